#!/bin/sh
# symbols.sh LIBRARY: exported names start with tl_, and the library has no mutable data: .data and
# .bss are empty. Tables of pointers lie in .data.rel.ro, which the loader makes read-only.
lib=$1 rc=0
# Thread-local and common symbols are state too.
bad=$(nm --defined-only --extern-only "$lib" | awk 'NF == 3 && $2 ~ /[A-Z]/ && $3 !~ /^tl_/ { print $3 }' |
    grep -v -e '^DW\.ref\.' | sort -u)
# Weak C++ inline functions of the PCG header are no names of this library.
bad=$(printf '%s\n' "$bad" | grep -v -e '^_Z' -e '^$')
if [ -n "$bad" ]; then echo "exported without tl_: $bad" >&2; rc=1; fi
state=$(objdump -h "$lib" | awk '
    /file format/ { file = $1; sub(/:$/, "", file) }
    $2 ~ /^\.(data|bss|tdata|tbss)(\.|$)/ && $2 !~ /^\.data\.rel\.ro/ && $3 !~ /^0+$/ {
        print file " " $2 " 0x" $3 }')
if [ -n "$state" ]; then echo "mutable state: $state" >&2; rc=1; fi
exit $rc
