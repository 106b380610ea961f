#!/usr/bin/env python3
"""The figures of README.md beside it: a sentence from results/livit_certified/data.csv, a table from sweep.csv.

usage: figures.py            prints both
       figures.py --check    whether README.md has them"""
import csv
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
CERTIFIED = HERE.parents[1] / "results/livit_certified/data.csv"


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def share(rows, column):
    return f"{sum(float(row[column]) for row in rows) / len(rows):.1%}"


def sentence():
    at = {}
    for row in rows_of(CERTIFIED):
        at.setdefault(row["epsilon"], []).append(row)
    certified = [f"{share(at[e], 'certified')} at {e} ({share(at[e], 'standing')})" for e in ("0.25", "0.5", "1")]
    certified[0] = certified[0].replace("(", "(attacks leave ")
    return (f"On the first {len(at['0'])} test images: {share(at['0'], 'clean')} right; "
            f"certified {', '.join(certified)}.")


def table():
    rows = rows_of(HERE / "sweep.csv")
    settings = list(rows[0])[:list(rows[0]).index("clean")]
    lines = ["| changed | clean | certified at 0.25 | at 0.5 | at 1 |", "|---|---|---|---|---|"]
    for row in rows:
        changed = [f"`--{name} {row[name]}`" for name in settings if row[name] != rows[0][name]]
        scores = [share([row], name) for name in ("clean", "certified_0.25", "certified_0.5", "certified_1.0")]
        lines.append(f"| {' | '.join([', '.join(changed) or 'nothing', *scores])} |")
    return "\n".join(lines)


def main():
    figures = [sentence(), table()]
    if sys.argv[1:] != ["--check"]:
        print("\n\n".join(figures))
        return
    text = (HERE / "README.md").read_text(encoding="utf-8")
    if not all(f"\n\n{figure}\n\n" in text for figure in figures):
        sys.exit(f"{HERE}/README.md: its figures are not those that {sys.argv[0]} prints")


main()
