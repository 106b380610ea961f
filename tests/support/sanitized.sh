#!/bin/sh
# sanitized.sh DIR BINARY..: runs instrumented tests, and the table of command lines with DIR/tightlip, and fails
# on any report, because Criterion exits 0 after a leak in a child.
dir=$1
shift
rm -f "$dir"/report.*
export ASAN_OPTIONS="abort_on_error=1:detect_leaks=1:log_path=$PWD/$dir/report"
case $dir in /*) ASAN_OPTIONS="abort_on_error=1:detect_leaks=1:log_path=$dir/report" ;; esac
# An absolute path: some rows of the table run in directories of their own.
export LSAN_OPTIONS="suppressions=$(cd "$(dirname "$0")/../fuzz" && pwd)/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS="print_stacktrace=1"
"$(dirname "$0")/run.sh" "$@"
rc=$?
python3 "$(dirname "$0")/../cli/run.py" "$dir/tightlip" || rc=1
for report in "$dir"/report.*; do
    [ -s "$report" ] || continue
    head -n 40 "$report"
    rc=1
done
exit $rc
