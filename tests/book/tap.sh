# Owns how the checks report: sourced by the scripts here. Each check collects what is wrong in a file,
# then calls report. `failed` is the exit status for the end of the script.
failed=0

# report NAME FILE: "ok - NAME" when FILE is empty; else "not ok - NAME" with the file as its context.
report() {
    if [ -s "$2" ]; then
        echo "not ok - $1"
        head -n 60 "$2" | sed 's/^/# /'
        failed=1
    else
        echo "ok - $1"
    fi
}
