#!/bin/sh
# run.sh NAME COMMAND..: runs one lint step and says how it went.
name=$1
shift
if "$@"; then echo "$name: ok"; else echo "$name: FAILED" >&2; exit 1; fi
