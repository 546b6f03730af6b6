#!/bin/sh
# test_cli.sh [TOOL]: the tool as a user meets it: words, options, exit statuses, the one line of an error.
# Works with the tool of any chapter; what a chapter does not have yet is skipped. Prints TAP.
cd "$(dirname "$0")/../.." || exit 1
tool=$(realpath "${1:-build/coppice}")
images=$PWD/tests/images
PATH=$PATH:/usr/sbin:/sbin
work=$(mktemp -d) && trap 'cleanup' EXIT || exit 1
cleanup() {
    [ -z "${loop-}" ] || losetup -d "$loop"
    rm -rf "$work"
}
cd "$work" || exit 1
failed=0

# check NAME STATUS STDOUT STDERR WORDS...: runs the tool with these words. STDOUT and STDERR are patterns
# of grep -E of which a line must be there; "" means that nothing may be printed.
check() {
    name=$1 status=$2 stdout=$3 stderr=$4
    shift 4
    timeout 60 "$tool" "$@" > out 2> err < /dev/null
    verdict "$name" $? "$status" "$stdout" "$stderr"
}
matches() { # FILE PATTERN
    if [ -n "$2" ]; then grep -aqE -e "$2" "$1"; else [ ! -s "$1" ]; fi
}
verdict() {
    if [ "$2" = "$3" ] && matches out "$4" && matches err "$5"; then
        echo "ok - $1"
        return
    fi
    echo "not ok - $1 (status $2, not $3)"
    for file in out err; do head -c 600 $file | head -n 8 | sed "s/^/# $file: /"; done
    failed=1
}
skip() { echo "ok - $1 # SKIP $2"; }
same() { # NAME FILE FILE
    if cmp -s "$2" "$3"; then echo "ok - $1"; else echo "not ok - $1"; failed=1; fi
}
commands=$("$tool" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
has() { echo "$commands" | grep -qx -e "$1"; }

for image in first tall; do xz -dc "$images/$image.img.xz" > $image.img; done

# --- the tool itself ---
check "no word at all" 2 "" "^Usage: coppice COMMAND"
check "--help" 0 "^  info " "" --help
check "help" 0 "^Usage: coppice COMMAND" "" help
check "--version" 0 "^coppice [0-9]" "" --version
check "no such command" 2 "" "^coppice: there is no command 'bark'" bark first.img
check "an option for a command" 2 "" "^coppice: there is no command '--json'" --json info first.img

escape=$(printf 'a\033[1mb')
check "a command that a terminal would obey" 2 "" "^coppice: there is no command 'a\\\\x1b\[1mb'" "$escape"
check "an image that a terminal would obey" 1 "" "^coppice: a\\\\x1b\[1mb: No such file" info "$escape"

# --- every command ---
takes_words() { "$tool" "$1" --help | sed 1q | grep -q 'OPTION\.\.\.\] .'; }
takes_image() { "$tool" "$1" --help | sed 2q | grep -q IMAGE; }
for command in $commands; do
    check "$command --help" 0 "^Usage: coppice $command \[OPTION...\] " "" "$command" --help
    check "$command --usage" 0 "^Usage: coppice $command" "" "$command" --usage
    check "$command with too many words" 2 "" "too many words: " "$command" first.img 1 2 3 4 5 6 7
    check "$command with an unknown option" 2 "" "unrecognized option '--bark'" "$command" --bark first.img
    if takes_image "$command"; then
        check "$command --help names the global options" 0 "--offset=BYTES" "" "$command" --help
        check "$command without an image" 2 "" "no image is named" "$command"
        check "$command with an option that lacks its value" 2 "" "requires an argument" "$command" first.img --offset
    else
        check "$command knows no --offset" 2 "" "unrecognized option '--offset'" "$command" --offset 0
        takes_words "$command" || continue
        check "$command without a word" 2 "" "^(coppice: $command: no|coppice $command: something is missing)" "$command"
        check "$command with a word that means nothing" 2 "" "^coppice: $command: there is no .* 'bark'" "$command" bark
        check "$command with an option that lacks its value" 2 "" "requires an argument" "$command" --seed
    fi
done

# words COMMAND: words that make it succeed on first.img and tall.img.
root=$("$tool" info first.img | sed -n 's/^root  *//p')
words() {
    case $1 in
    leaf) echo "$root" ;;
    find) echo "fs 256 INODE_ITEM 0" ;;
    esac
}
reading=$(for command in info leaf find dump; do ! has $command || echo $command; done)

# --- exit 1 and one line ---
head -c 300000 first.img > cut.img
head -c 1000 first.img > short.img
: > empty.img
yes 'This is no image.' | head -c 200000 > text.img
mkdir folder
printf '# a comment\nbark 1\n' > bad.trace
mkfifo pipe
for command in $reading; do
    words=$(words "$command")
    # shellcheck disable=SC2086
    check "$command of a missing file" 1 "" "^coppice: none.img: No such file or directory$" $command none.img $words
    for bad in "cut.img superblock at 65536: .*it is truncated \(U10\)" "short.img is not a Btrfs image: " \
        "empty.img is not a Btrfs image: " "text.img superblock at 65536: no Btrfs magic \(U1\)" \
        "folder is a directory" "pipe is neither a regular file nor a block device" \
        "/dev/null is neither a regular file nor a block device"; do
        file=${bad%% *}
        # shellcheck disable=SC2086
        check "$command of $file" 1 "" "^coppice: $file: ${bad#* }" $command "$file" $words
        [ "$(wc -l < err)" = 1 ] || { echo "not ok - $command of $file: more than one line"; failed=1; }
    done
done

# --- results ---
for command in $reading; do
    words=$(words "$command")
    # shellcheck disable=SC2086
    check "$command" 0 . "" $command first.img $words
    cp out plain
    # Options may stand anywhere; what the last one says counts.
    # shellcheck disable=SC2086
    check "$command --json" 0 '^\{' "" $command --json first.img $words
    cp out first.json
    # shellcheck disable=SC2086
    check "$command, --json behind" 0 '^\{' "" $command first.img $words --json
    same "$command: options stand anywhere" out first.json
    # shellcheck disable=SC2086
    check "$command, abbreviated" 0 '^\{' "" $command first.img --js $words
    same "$command: an option may be abbreviated" out first.json
    if jq -e . first.json > /dev/null 2> err; then echo "ok - $command --json is JSON"; else
        echo "not ok - $command --json is JSON"; failed=1; fi
    if [ "$(jq -rs '[.[] | type] | unique | .[]' first.json)" = object ]; then
        echo "ok - $command --json: objects"; else echo "not ok - $command --json: objects"; failed=1; fi
    # A disk that is full, and an output that is closed.
    # shellcheck disable=SC2086
    for words in "first.img $words" --help; do
        "$tool" $command $words > /dev/full 2> err
        status=$?; : > out
        verdict "$command ${words%% *} > /dev/full" $status 1 "" "^coppice: cannot write the result: No space"
        "$tool" $command $words >&- 2> err
        verdict "$command ${words%% *} >&-" $? 1 "" "^coppice: cannot write the result: "
    done
done

# --- the laboratory: commands without an image ---
laboratory() { # NAME WORDS...
    name=$1; shift
    check "$name" 0 . "" "$@"
    check "$name --json" 0 '^\{' "" "$@" --json
    if [ "$(jq -rs '[.[] | type] | unique | .[]' out)" = object ]; then
        echo "ok - $name --json: an object"; else echo "not ok - $name --json: an object"; failed=1; fi
    cp out once
    check "$name --json, again" 0 '^\{' "" "$@" --json
    same "$name repeats" out once
    check "$name with a policy that there is not" 2 "" "^coppice: .*: --policy: there is no policy 'bark'; " "$@" --policy bark
    check "$name with a node size that there is not" 2 "" "^coppice: .*: --node-size: 5000 is not a power of two" "$@" --node-size 5000
    "$tool" "$@" > /dev/full 2> err
    status=$?; : > out
    verdict "$name > /dev/full" $status 1 "" "^coppice: cannot write the result: No space"
}
if has grow; then
    for order in ascending descending random streams zipf; do
        laboratory "grow $order" grow $order --items 2000
    done
fi
if has replay; then
    for mix in overwrite relog rndwr seqwr streams; do
        laboratory "replay $mix" replay $mix --requests 300
    done
    printf 'insert 1 2 3 4\n' > one.trace
    laboratory "replay --trace" replay --trace one.trace
    printf 'insert 1 2 3 4\ninsert 1 2 4 4\n' | "$tool" replay --trace - --json > out 2> err
    verdict "replay --trace - reads every line" $? 0 '"requests":2,' ""
    printf 'insert 1 2 3 4\0junk\n' > zero.trace
    check "replay --trace with a zero byte" 1 "" "^coppice: replay: zero.trace: line 1: a zero byte$" replay --trace zero.trace
    check "replay --trace of /dev/zero" 1 "" "line 1: a zero byte$" replay --trace /dev/zero
    check "replay --policy help" 0 "^kernel " "" replay relog --policy help
    check "replay --stats" 0 "^push_right_no_neighbour " "" replay relog --requests 100 --stats
    check "replay --trace of a missing file" 1 "" "^coppice: replay: none.trace: No such file or directory$" replay --trace none.trace
    check "replay --trace of a folder" 1 "" "^coppice: replay: folder: line 1: Is a directory$" replay --trace folder
    check "replay --trace of a line that means nothing" 1 "" "^coppice: replay: bad.trace: line 2: there is no operation 'bark'$" \
        replay --trace bad.trace
fi

for word in --help --version; do
    "$tool" $word > /dev/full 2> err
    verdict "$word > /dev/full" $? 1 "" "^coppice: cannot write the result: No space"
done
if has dump; then
    "$tool" dump tall.img 2> err | head -n 1 > out
    verdict "dump to a reader that has seen enough" 0 0 "^tree name root" ""
fi

# --- numbers are exact in JSON ---
check "info --json" 0 . "" info --json first.img
if [ "$(jq -r '.total_bytes, .label, .fsid, (.mirrors | length)' out | tr '\n' ' ')" = \
    "134217728 first c0991ce0-0000-4000-8000-000000000001 3 " ]; then
    echo "ok - info --json holds what info shows"; else echo "not ok - info --json holds what info shows"; failed=1; fi

# --- mirrors of the superblock ---
check "--mirror 0" 0 "^mirror_used  *0$" "" info --mirror 0 first.img
check "--mirror=1" 0 "^mirror_used  *1$" "" info first.img --mirror=1
check "--mirror 2" 1 "" "^coppice: first.img: no superblock at 274877906944" info --mirror 2 first.img
check "--mirror 1 of a small image" 1 "" "^coppice: tall.img: no superblock at 67108864" info --mirror 1 tall.img
check "--mirror 3" 2 "" "^coppice: first.img: --mirror: the mirrors are 0, 1 and 2$" info --mirror 3 first.img
grep -q "^Try 'coppice info --help'" err || { echo "not ok - wrong usage points to the help"; failed=1; }
check "--mirror x" 2 "" "'x' is not a number" info --mirror x first.img
cp first.img torn.img
printf torn | dd of=torn.img bs=1 seek=65600 conv=notrunc status=none
for command in $reading; do
    # shellcheck disable=SC2046
    check "$command with a torn superblock" 0 . "^coppice: torn.img: warning: superblock at 65536: .* mirror 1 at 67108864 is used" \
        "$command" torn.img $(words "$command")
done
check "info --mirror 0 of a torn superblock" 1 "" "^coppice: torn.img: superblock at 65536: no Btrfs magic" info --mirror 0 torn.img

many=
for i in $(seq 33); do many="$many --json"; done
# shellcheck disable=SC2086
check "more options than there can be" 2 "" "too many options" info $many first.img

# All first copies of the metadata are gone: more warnings than are kept.
if has dump; then
    xz -dc "$images/bgt-default.img.xz" > worn.img
    "$tool" dump worn.img > plain
    "$tool" dump --json worn.img chunk |
        jq -r '.contents[] | select(.type_names == "METADATA|DUP") | .stripes[0].offset' > place
    dd if=/dev/zero of=worn.img bs=1M seek=$(($(cat place) / 1048576)) count=8 conv=notrunc status=none
    check "dump without the first copies" 0 . "^coppice: worn.img: warning: and [0-9]+ more of the kind" dump worn.img
    same "dump without the first copies: the same result" out plain
    [ "$(wc -l < err)" = 17 ] || { echo "not ok - 17 lines of warnings"; failed=1; }
fi

# --- wrong words ---
if has leaf; then
    check "leaf without an address" 2 "" "something is missing" leaf first.img
    check "leaf x" 2 "" "^coppice: first.img: 'x' is not a number" leaf first.img x
    check "leaf of nothing" 1 "" "^coppice: first.img: .*12288" leaf first.img 12288
    check "leaf --dot" 0 "^graph leaf" "" leaf --dot first.img "$root"
    if command -v dot > /dev/null; then
        dot -Kneato -n -Tsvg out > drawing.svg 2> err; verdict "leaf --dot can be drawn" $? 0 . ""
    else skip "leaf --dot can be drawn" "graphviz is not installed"; fi
fi
if has find; then
    check "find without a key" 2 "" "a key is three words|something is missing" find first.img fs
    check "find with half a key" 2 "" "a key is three words" find first.img fs 256 INODE_ITEM
    check "find with a key in one word" 0 "found yes" "" find first.img fs '(256 INODE_ITEM 0)'
    check "find in no tree" 1 "" "^coppice: first.img: there is no tree 999$" find first.img 999 '256 1 0'
    check "find a bark" 2 "" "'bark' is not the name or number of a tree" find first.img bark '256 1 0'
    check "find -- and a negative objectid" 0 "found yes" "" find first.img data-reloc -- 256 INODE_ITEM 0
    check "find what is not there" 1 "found no" "^coppice: first.img: tree fs has no item \(77 " find first.img fs 77 UNKNOWN.99 5
    check "find --stats" 0 "stats height 3 blocks 3 " "" find tall.img fs '256 INODE_ITEM 0' --stats
fi
if has dump; then
    check "dump of one tree" 0 "^tree name fs id 5 " "" dump first.img fs
    check "dump of no tree" 1 "" "^coppice: first.img: there is no tree 999$" dump first.img 999
    check "dump --json --dot" 2 "" "--dot excludes --json" dump --json --dot first.img
    check "dump --stats --dot" 2 "" "--dot excludes" dump --stats --dot first.img
    check "leaf --json --dot" 2 "" "exclude each other" leaf --json --dot first.img "$root"
    check "dump --stats" 0 "^stats trees 1 " "" dump --stats first.img chunk
    check "dump --dot" 0 "^strict digraph trees" "" dump --dot first.img
    if command -v dot > /dev/null; then
        dot -Tsvg out > drawing.svg 2> err; verdict "dump --dot can be drawn" $? 0 . ""
    else skip "dump --dot can be drawn" "graphviz is not installed"; fi
fi

# --- an image within a disk, and on a block device ---
for label in gpt dos; do
    truncate -s 200M disk.img
    printf 'label: %s\nstart=2048, size=4096\nstart=8192, size=262144\n' $label | sfdisk -q disk.img
    dd if=first.img of=disk.img bs=4096 seek=1024 conv=notrunc,sparse status=none
    for command in $reading; do
        # shellcheck disable=SC2046
        "$tool" "$command" first.img $(words "$command") > plain
        for place in "--offset 4M" "--offset=4194304" "--offset 0x400000" "--partition 2"; do
            # shellcheck disable=SC2046,SC2086
            check "$command $place of a $label disk" 0 . "" "$command" $place disk.img $(words "$command")
            same "$command $place of a $label disk: the same result" out plain
        done
    done
    check "--partition 1 of a $label disk" 1 "" "^coppice: disk.img: superblock at 65536: no Btrfs magic" info --partition 1 disk.img
    check "--partition 3 of a $label disk" 1 "" "^coppice: disk.img: there is no partition 3; the table has 2$" info --partition 3 disk.img
    rm disk.img
done
check "--partition of a file without a table" 1 "" "^coppice: tall.img: there is no partition table$" info --partition 1 tall.img
check "--partition 0" 2 "" "partitions are counted from 1" info --partition 0 first.img
check "--offset and --partition" 2 "" "exclude each other" info --offset 0 --partition 1 first.img
check "--offset behind the end" 1 "" "^coppice: first.img: offset 1099511627776 .*pass the end" info --offset 1T first.img
check "--offset into nowhere" 1 "" "^coppice: first.img: superblock at 65536: no Btrfs magic" info --offset 1M first.img
check "--offset -1" 2 "" "'-1' is not a number" info --offset=-1 first.img

if [ "$(id -u)" = 0 ] && loop=$(losetup -f --show -r first.img 2> /dev/null); then
    for command in $reading; do
        # shellcheck disable=SC2046
        "$tool" "$command" first.img $(words "$command") > plain
        # shellcheck disable=SC2046
        check "$command of a block device" 0 . "" "$command" "$loop" $(words "$command")
        same "$command of a block device: the same result" out plain
    done
else
    loop=
    skip "block devices" "no root or no loop device"
fi

# --- names that are no UTF-8 ---
if has dump && command -v mkfs.btrfs > /dev/null; then
    mkdir tree
    touch "tree/$(printf 'gr\374n')" "tree/$(printf 'gr\303\274n')" "tree/$(printf 'a\nb\033[1m"\\')"
    truncate -s 120M names.img
    mkfs.btrfs -q --rootdir tree names.img > /dev/null 2>&1
    check "dump of odd names" 0 'name "gr\\xfcn"' "" dump names.img fs
    grep -aq 'name "a\\x0ab\\x1b\[1m\\"\\\\"' out; verdict "names are quoted" $? 0 . ""
    LC_ALL=C grep -aq "$(printf '\033')" out; verdict "no control character gets through" $? 1 . ""
    check "dump --json of odd names" 0 . "" dump --json names.img fs
    jq -c 'select(.type == 84 and .tree == "fs") | .contents[] | [.name, .name_hex]' out 2> err | sort > found
    printf '%s\n' '["a\nb\u001b[1m\"\\",null]' "$(printf '["gr\303\274n",null]')" '[null,"6772fc6e"]' | sort > wanted
    same "odd names in JSON: UTF-8 as strings, others in hexadecimal" found wanted
else
    skip "names that are no UTF-8" "needs dump and mkfs.btrfs"
fi
exit $failed
