# Counts the TAP of a run. For each step (the marks of step.sh) it shows every "not ok" with what stood
# before it and the comments after it, then the counts and seconds of the step. The last line is
# "N passed, N failed, N skipped"; the status is 1 when a test failed, none ran, or the mark "#: done"
# is missing, so that a run that dies half way is no success.
function close_step(seconds) {
    if (step == "") return
    printf "%-28s %5d passed %3d failed %3d skipped %5s s\n", step,
        passed - passed_before, failed - failed_before, skipped - skipped_before, seconds
    fflush()
    step = ""
}
function fault(line,    i) {
    failed++
    print line
    for (i = kept > KEEP ? kept - KEEP : 0; i < kept; i++) print "    " recent[i % KEEP]
    kept = 0
    after = 1
}
BEGIN { KEEP = 30 }
/^#: step / {
    close_step("?")
    step = substr($0, 9)
    passed_before = passed; failed_before = failed; skipped_before = skipped
    kept = after = 0
    next
}
/^#: end / { close_step($3); next }
/^#: done$/ { done = 1; next }
/^not ok( |$)/ { fault($0); next }
/^ok .*# [Ss][Kk][Ii][Pp]/ { skipped++; print; kept = after = 0; next }
/^ok( |$)/ { passed++; kept = after = 0; next }
after && /^#/ { print "    " $0; next }
{ after = 0; recent[kept++ % KEEP] = $0 }
END {
    if (step != "") { fault("not ok - " step " (the run ended in it)"); close_step("?") }
    else if (!done) fault("not ok - the run did not come to its end")
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0 || passed == 0
}
