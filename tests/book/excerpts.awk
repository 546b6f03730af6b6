# Prints a chapter with every excerpt refilled (needs definitions.awk). What is wrong goes to the file
# named by -v errors=FILE; a block whose excerpt is at fault stays as it is.
function wrong(message) { print FILENAME ":" FNR ": " message >> errors }

in_fence {
    if ($0 ~ closing) in_fence = filling = 0
    if (!filling) print
    next
}
pending && !/^```/ { wrong("the excerpt comment above has no fence after it"); pending = 0 }
/^[ \t>]*(```|~~~)/ {
    print
    in_fence = 1
    match($0, /(`+|~+)/)
    closing = "^[ \t>]*" substr($0, RSTART, RLENGTH) "+[ \t]*$"
    sub(/^[ \t>]*(`+|~+)[ \t]*/, "")
    if (pending) {
        if (fault == "") { if (body != "") print body; filling = 1 }
        pending = 0
    } else if (/^([cCh]|cpp|diff)([^A-Za-z]|$)/)
        wrong("a " $1 " block without an excerpt comment above it")
    next
}
/^<!-- *excerpt/ {
    body = excerpt($0)
    if (fault != "") wrong(fault)
    pending = 1
}
{ print }
END {
    if (pending) wrong("the excerpt comment above has no fence after it")
    if (in_fence) wrong("a fence is not closed")
}
