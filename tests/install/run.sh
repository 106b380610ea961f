#!/bin/sh
# run.sh MAKE BUILD CC CXX: installs into an empty directory and uses what is there: the program, the
# shared library through pkg-config, the static one, the Python example; then removes all of it. The tarball of make dist is whole.
# Last line: "N passed, N failed".
make=$1 build=$2 cc=$3 cxx=$4 passed=0 failed=0
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
check() {
    name=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name"; fi
}
$make install BUILD="$build" DESTDIR="$root" PREFIX=/opt/t > "$root/log" 2>&1 || cat "$root/log"
prefix=$root/opt/t
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
export LD_LIBRARY_PATH=$prefix/lib
flags=$(pkg-config --cflags --libs tightlip)
check pkg-config test -n "$flags"
check program sh -c "'$prefix/bin/tightlip' --version > /dev/null"
# shellcheck disable=SC2086
check example $cc -Wall -Werror experiments/c/local_norm.c $flags -lm -o "$root/shared"
check shared sh -c "'$root/shared' | grep -q '^norm 2.71424062559$'"
check "bounds of the example" sh -c "'$root/shared' | grep -q '^sharp '"
# Every public header from C++, and the library linked from there.
(cd "$prefix/include" && ls tightlip/*.h) | sed 's/.*/#include "&"/' > "$root/all.cpp"
echo 'int main() { return tl_bound_count() == 0; }' >> "$root/all.cpp"
# shellcheck disable=SC2086
check "headers from C++" $cxx -Wall -Wextra -Werror "$root/all.cpp" $flags -o "$root/cpp"
check "library from C++" "$root/cpp"
flags=$(pkg-config --static --cflags --libs tightlip | sed "s,-ltightlip,$prefix/lib/libtightlip.a,")
# shellcheck disable=SC2086
check "static library" $cc experiments/c/local_norm.c $flags -lm -o "$root/static"
check "same result" sh -c "'$root/shared' > '$root/a' && '$root/static' > '$root/b' && cmp '$root/a' '$root/b'"
others=$(nm -D --defined-only "$prefix/lib/libtightlip.so" | awk '$3 !~ /^tl_/ { print $3 }')
check "exports: $others" test -z "$others"
check manual sh -c "man --warnings=w -l '$prefix/share/man/man1/tightlip.1' 2>&1 | grep -q -e --restarts || \
    grep -q 'restarts' '$prefix/share/man/man1/tightlip.1'"
check completion bash -c ". '$prefix/share/bash-completion/completions/tightlip' && \
    COMP_WORDS=(tightlip ver) COMP_CWORD=1 && _tightlip && [[ \${COMPREPLY[*]} == *verify* ]]"
# From an empty directory: what is listed is installed, every path in it leads to a file, and it runs.
mkdir "$root/empty"
listed=$(cd "$root/empty" && "$prefix/bin/tightlip" list experiments | grep -c "$prefix/share/tightlip/experiments/")
check "experiments: $listed listed" test "$listed" -eq "$(ls experiments/*.cfg experiments/pretrained/*.cfg | wc -l)"
for cfg in "$prefix"/share/tightlip/experiments/*.cfg; do
    lost=$(sed -n 's/^[^#"]*= *"\([^"]*\(data\|livit\)\/[^"]*\)".*/\1/p' "$cfg" | while read -r path; do
        # A variable of the sweep stands for several files.
        ls "$(dirname "$cfg")"/$(echo "$path" | sed 's/\${[a-z_]*}/*/g') > /dev/null 2>&1 || echo "$path"; done)
    check "data of $cfg: $lost" test -z "$lost"
done
check 'an installed experiment' sh -c "cd '$root/empty' && \
    '$prefix/bin/tightlip' run '$prefix/share/tightlip/experiments/svtr_growth.cfg' --shard 1/40 --no-plot > log 2>&1 && \
    test -s results/*/cells.ndjson"
if python3 -c 'import numpy' 2> /dev/null; then
    check python python3 -c "
import subprocess, sys
lines = subprocess.run([sys.executable, 'experiments/python/measure_layer.py',
                        '$prefix/lib/libtightlip.so'], capture_output=True, text=True, check=True).stdout.split()
assert abs(float(lines[1]) / float(lines[3]) - 1) < 1e-6, lines"
else
    echo 'no numpy here: the Python example is not run; apt install python3-numpy'
fi
if git rev-parse --git-dir > /dev/null 2>&1; then
    tarball=$($make dist BUILD="$build" | tail -n 1)
    mkdir "$root/dist" && tar -xzf "$tarball" -C "$root/dist"
    # Everything the build needs is in it: no network, no repository.
    check dist sh -c "cd '$root'/dist/* && $make -n all > '$root/dist.log' 2>&1"
    check 'sources of dist' sh -c "cd '$root'/dist/* && $make print-LIB_C | tr ' ' '\n' | grep -c '^src/.*c' | \
        xargs test $(ls src/*/*.c | grep -vc '^src/cli/') -eq"
fi
$make uninstall BUILD="$build" DESTDIR="$root" PREFIX=/opt/t > /dev/null
left=$(find "$prefix" -type f -o -type l)
check "left behind: $left" test -z "$left"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
