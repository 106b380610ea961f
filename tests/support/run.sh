#!/bin/sh
# run.sh BINARY..: runs Criterion test programs and shows their summary lines. Fails when one fails,
# crashes, or ran no test at all (Criterion itself calls that a success).
export OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-1}"
passed=0 failed=0
[ $# -gt 0 ] || { echo 'no test programs' >&2; exit 1; }
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
for test in "$@"; do
    "$test" --color=never > "$out" 2>&1
    rc=$?
    line=$(grep 'Synthesis:' "$out" | tail -n 1)
    count() { printf '%s' "$line" | sed -n "s/.*$1: *\([0-9]*\).*/\1/p"; }
    tested=$(count Tested) good=$(count Passing)
    bad=$(( ${tested:-0} - ${good:-0} ))
    [ $rc -eq 0 ] || [ $bad -gt 0 ] || bad=1
    [ "${tested:-0}" -gt 0 ] || bad=1
    [ $bad -eq 0 ] || cat "$out"
    printf '%-24s %s\n' "$(basename "$test")" "${line:-no summary (exit $rc)}"
    [ "${tested:-0}" -gt 0 ] || echo "$(basename "$test"): ran no test"
    passed=$((passed + ${good:-0})) failed=$((failed + bad))
done
if [ -n "$TIGHTLIP_COUNTS" ]; then echo "$passed $failed" > "$TIGHTLIP_COUNTS"; fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
