#!/bin/sh
# check.sh MAKE BUILD: lint, ranks, the command line, an installation, the committed results and the unit
# tests, all of them whatever fails, then one line "N passed, N failed" in which the first five count
# as one each.
make=$1 build=$2
mkdir -p "$build" || exit 1
counts=$build/check-counts
passed=0 failed=0 bad=
step() {
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)) bad="$bad $step_name"; fi
}
step_name=lint; step $make -k lint
step_name=mpi-check; step $make mpi-check
step_name=cli; step $make cli
step_name=install-check; step $make install-check
step_name=verify-results; step $make verify-results
rm -f "$counts"
TIGHTLIP_COUNTS=$counts $make test
rc=$?
if [ -s "$counts" ]; then
    read -r good wrong < "$counts"
    passed=$((passed + good)) failed=$((failed + wrong))
    [ $rc -eq 0 ] || [ "$wrong" -gt 0 ] || failed=$((failed + 1))
else
    failed=$((failed + 1)) bad="$bad tests"
fi
[ -z "$bad" ] || echo "failed:$bad"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
