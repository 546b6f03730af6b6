# command.sh STATE FILE: runs the command in FILE where the one before it stopped: the folder and the
# variables (all exported) go from one to the next through STATE.folder and STATE.variables.
set -a
[ ! -e "$1.folder" ] || { . "$1.variables"; cd "$(cat "$1.folder")" || exit; }
trap 'pwd > "$1.folder"; export -p > "$1.variables"' EXIT
. "$2"
