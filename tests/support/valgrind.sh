#!/bin/sh
# valgrind.sh DIR SECONDS PROGRAM BINARY..: memcheck over the quick experiment and every test program; fails on
# any error or any memory definitely lost, because Criterion exits 0 whatever its children do. A program
# that takes longer than SECONDS is stopped and named: what it did by then has been looked at, but it does
# not count as run.
dir=$1 seconds=$2 program=$3
shift 3
command -v valgrind > /dev/null || { echo 'no valgrind here: apt install valgrind'; exit 0; }
here=$(dirname "$0")
mkdir -p "$dir" && rm -f "$dir"/*.log
# Threads take turns under memcheck: one that spins takes the turn of the one it waits for. It has no wider vectors.
export OPENBLAS_CORETYPE=HASWELL OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive TIGHTLIP_MEMCHECK=1
slow=0 bad=0 run=0
memcheck() { # name, then the command
    name=$1
    shift
    timeout "$seconds" nice valgrind --quiet --trace-children=yes --trace-children-skip='*gnuplot*,/bin/*,/usr/bin/*' \
        --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --num-callers=24 \
        --suppressions="$here/valgrind.supp" --log-file="$dir/$name.%p.log" "$@" > "$dir/$name.out" 2>&1
    rc=$?
    run=$((run + 1))
    # What valgrind itself says when it is stopped is no finding.
    found=$(cat "$dir/$name".*.log | grep -c -e 'Invalid' -e 'uninitialised' -e 'definitely lost' -e 'Mismatched' \
        -e 'overlap' -e 'Process terminating with default action of signal 11' -e 'unrecognised instruction')
    note=clean
    [ $rc -eq 124 ] && { note="stopped, clean as far as $seconds s go" slow=$((slow + 1)); }
    [ $rc -eq 0 ] || [ $rc -eq 124 ] || { note="exit code $rc" bad=$((bad + 1)); }
    [ "$found" -eq 0 ] || { note="$found reports in $dir/$name.*.log" bad=$((bad + 1)); }
    printf '%-28s %s\n' "$name" "$note"
    [ "$found" -eq 0 ] || cat "$dir/$name".*.log | head -n 40
}
# The same cells and bounds with less to search.
sed 's/restarts = [0-9]*; evaluations = [0-9]*/restarts = 2; evaluations = 60/' \
    "$here/../../experiments/quick.cfg" > "$dir/quick.cfg"
memcheck quick "$program" run "$dir/quick.cfg" -o "$dir/quick"
for test in "$@"; do memcheck "$(basename "$test")" "$test"; done
echo "$((run - slow)) of $run programs under memcheck to their end, $slow stopped after $seconds s, $bad with reports"
[ $bad -eq 0 ]
