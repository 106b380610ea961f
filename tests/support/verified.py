#!/usr/bin/env python3
"""verified.py VERIFIED: reads what `tightlip verify --enclose --json` printed.

Every witness must be confirmed, and the value it claims must lie in the certified interval widened
by the rounding of double precision, relative 1e-10. Prints what does not, and one line in all."""
import json
import math
import pathlib
import sys

SLACK = 1e-10


def outside(item):
    """How far the claim lies outside [lower, upper], in decades; negative: inside."""
    lower = item["lower_log10"]
    if item["upper"] is None:  # trained weights: proven from below alone
        return lower - item["claimed"]["log10"]
    mantissa, _, exponent = item["upper"].partition("e")  # past the double range as well
    upper = math.log10(float(mantissa)) + int(exponent or 0)
    claim = item["claimed"]["log10"]
    return max(lower - claim, claim - upper)


def main():
    items = json.loads(pathlib.Path(sys.argv[1]).read_text())
    wrong, widest = 0, 0.0
    for item in items:
        if item["verdict"] != "confirmed":
            print(f"{item['file']}: {item['verdict']} {' '.join(item.get('refutes', []))}")
            wrong += 1
            continue
        distance = outside(item) * math.log(10)
        widest = max(widest, distance)
        if distance > SLACK:
            print(f"{item['file']}: claimed 10^{item['claimed']['log10']!r}, "
                  f"certified [{item['lower']}, {item['upper']}]")
            wrong += 1
    below = sum(item["upper"] is None for item in items)
    print(f"{len(items)} witnesses certified, {below} of them from below alone, {wrong} wrong; the double "
          f"values lie within a relative {widest:.1e} of their intervals")
    sys.exit(1 if wrong or not items else 0)


main()
