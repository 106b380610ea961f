#!/bin/sh
# run.sh PROGRAM: the table of calls, the reference values of tests/golden, the kernels, what a terminal
# shows, what interrupts leave, the commands of README, damaged results, the report in a browser;
# the last line adds them up.
program=${1:?usage: run.sh PROGRAM}
here=$(dirname "$0")
total() { awk '/ passed, .* failed$/ { p += $1; f += $3; n++ } { if ($0 !~ / passed, .* failed$/) print }
    END { print p + 0 " passed, " f + 0 " failed"; exit !(n == 8 && f == 0) }'; }
{
    python3 "$here/run.py" "$program" || true
    python3 "$here/../golden/check.py" "$program" || true
    python3 "$here/kernels.py" "$program" || true
    python3 "$here/terminal.py" "$program" || true
    python3 "$here/interrupts.py" "$program" || true
    python3 "$here/readme.py" "$program" || true
    python3 "$here/damaged.py" "$program" || true
    python3 "$here/browser.py" "$program" "$here"/../../results/*/ || true
} | total
