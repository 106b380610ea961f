#!/usr/bin/env python3
"""verified.py PROGRAM DIR..: `tightlip verify --enclose` of every witness in the directories, as many at a time as there
are processors, those with most to read first: one that takes minutes is not to begin last.

Every witness must be confirmed, and the value it claims must lie in the certified interval widened
by the rounding of double precision, relative 1e-10. What a record has as certified, from the product
of `run`, must not lie above the lower end that `verify` finds by more than a relative 1e-15 (networks: 1e-10), nor
below by more than 1e-14, or with fewer digits than 48 bits leave open, which that product may end with. The tables
must be what the records give. Prints what does not hold, and one line in all."""
import concurrent.futures
import decimal
import json
import math
import os
import pathlib
import subprocess
import sys

SLACK = 1e-10
SAME, NETWORK = decimal.Decimal("1e-15"), decimal.Decimal("1e-10")
TOKEN_BYTES = 500
DIGITS = 20  # of a record; fewer: no more are known
OWN = decimal.Decimal("1e-14")  # --enclose looks for a direction of its own, in the other block where two tie
BELOW = decimal.Decimal(2) ** -47 + decimal.Decimal("1e-15")  # from the lower end to the upper, and a digit cut off


def outside(item):
    """How far the claim lies outside [lower, upper], in decades; negative: inside."""
    lower = item["lower_log10"]
    if item["upper"] is None:  # trained weights and stars: proven from below alone
        return lower - item["claimed"]["log10"]
    mantissa, _, exponent = item["upper"].partition("e")  # past the double range as well
    upper = math.log10(float(mantissa)) + int(exponent or 0)
    claim = item["claimed"]["log10"]
    return max(lower - claim, claim - upper)


def recorded(item, records):
    """What the record of a cell says is certified, and to what it must agree; None where there is none."""
    path, _, line = item["file"].rpartition(":")
    if not line.isdigit():
        return None
    if path not in records:
        with open(path, encoding="utf-8") as lines:
            records[path] = [json.loads(text) for text in lines]
    record = records[path][int(line) - 1]
    certified = record.get("lower", {}).get("certified")
    # Texts go through a network anew, in double precision, and have no direction stored.
    network = "model" in record.get("witness", {}).get("attention", {})
    return certified and (certified, NETWORK if network else SAME)


def differs(item, certified, agreement):
    ours, theirs = decimal.Decimal(certified), decimal.Decimal(item["lower"])
    cut = len(ours.as_tuple().digits) < DIGITS
    return ours > theirs * (1 + agreement) or ours < theirs * (1 - max(agreement, BELOW if cut else OWN))


def verified(directory):
    done = subprocess.run([sys.argv[1], "verify", directory, "--enclose", "--json"], capture_output=True, text=True)
    if "holds no witness" in done.stderr:
        return []
    if not done.stdout:
        sys.exit(f"{directory}: exit code {done.returncode}: {done.stderr[-1000:]}")
    return json.loads(done.stdout)


def size(directory):
    """Bytes to read; a token of a layer of a network, which is read by name, takes as long as many."""
    total = 0
    for path in pathlib.Path(directory).glob("*.ndjson"):
        with open(path, encoding="utf-8") as lines:
            total += sum(len(line) + (TOKEN_BYTES * json.loads(line)["n"] if '"model":' in line else 0) for line in lines)
    return total


def main():
    directories = sorted(sys.argv[2:], key=size, reverse=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        items = [item for part in pool.map(verified, directories) for item in part]
    items = [i for i in items if "tested" not in i]  # conjectures: an outcome is no fault
    tables, items = [i for i in items if "rows" in i], [i for i in items if "rows" not in i]
    for item in tables:
        if item["verdict"] != "confirmed":
            print(f"{item['file']}: {item['verdict']}: {item['differs']}")
    wrong, widest, compared, records = sum(i["verdict"] != "confirmed" for i in tables), 0.0, 0, {}
    for item in items:
        if item["verdict"] != "confirmed":
            print(f"{item['file']}: {item['verdict']} {' '.join(item.get('refutes', []))}")
            wrong += 1
            continue
        certified = recorded(item, records)
        compared += certified is not None
        if certified and differs(item, *certified):
            print(f"{item['file']}: {certified[0]} in the record, {item['lower']} by verify")
            wrong += 1
        distance = outside(item) * math.log(10)
        widest = max(widest, distance)
        if distance > SLACK:
            print(f"{item['file']}: claimed 10^{item['claimed']['log10']!r}, "
                  f"certified [{item['lower']}, {item['upper']}]")
            wrong += 1
    below = sum(item["upper"] is None for item in items)
    print(f"{len(items)} witnesses certified, {below} of them from below alone, {compared} as their records say, "
          f"{len(tables)} tables made again, {wrong} wrong; the double values lie within a relative {widest:.1e} of their intervals")
    sys.exit(1 if wrong or not items else 0)


main()
