#!/bin/sh
# run.sh NAME COMMAND..: runs one lint step and says how it went.
name=$1
shift
if "$@"; then echo "lint $name: ok"; else echo "lint $name: FAILED" >&2; exit 1; fi
