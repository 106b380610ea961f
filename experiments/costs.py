#!/usr/bin/env python3
"""costs.py RESULTS: the share of certificates in the time of every experiment that was run there (timing.ndjson)."""
import json
import pathlib
import sys


def main():
    found = []
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*/timing.ndjson")):
        cells = [row for row in map(json.loads, path.open(encoding="utf-8")) if "cell" in row]
        seconds = sum(row["seconds"] for row in cells)
        if seconds > 0:
            found.append((sum(row.get("certify_seconds", 0) for row in cells) / seconds, path.parent.name, seconds))
    for share, name, seconds in sorted(found):
        print(f"{share:7.1%}  {name} ({seconds:.3g} s)")


if __name__ == "__main__":
    main()
