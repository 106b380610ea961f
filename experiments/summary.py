#!/usr/bin/env python3
"""summary.py RESULTS: writes RESULTS/README.md from the manifests and tables of its experiments."""
import collections
import csv
import json
import math
import pathlib
import sys


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def spread(ratios):
    mean = sum(ratios) / len(ratios)
    return (f"{10 ** min(ratios):.4g} to {10 ** max(ratios):.4g}, "
            f"geometric mean {10 ** mean:.4g}")


def provenance(rows, kind):
    """The best bound of that provenance: how far above the value, which one, and where."""
    ratios = [v for v in (number(r[f"{kind}_ratio_log10"]) for r in rows) if v is not None]
    if not ratios:
        return []
    best = collections.Counter(r[f"best_{kind}"] for r in rows if r[f"best_{kind}"])
    close = sum(v < math.log10(1.1) for v in ratios)
    keys = ", ".join(f"`{key}` in {count} cells" for key, count in best.most_common())
    return [f"Best {kind} bound over value: {spread(ratios)}; within 10% in {close} of "
            f"{len(ratios)} cells. The best one is {keys}."]


def section(directory):
    manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    config = manifest["config"]
    with (directory / "data.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if "invert" in config:
        last = [number(r["error"]) for r in rows if r["iteration"] == str(config["invert"]["iterations"])]
        rows = [r for r in rows if r["iteration"] == "0"]
    logs = [v for v in (number(r["lower_log10"]) for r in rows) if v is not None]
    ratios = [v for v in (number(r["ratio_log10"]) for r in rows) if v is not None]
    lines = [f"## {directory.name}", "", config.get("title", directory.name), "",
             config.get("question", ""), ""]
    for key, what in (("paper", "The paper"), ("finding", "Found here")):
        if key in config:
            lines += [f"{what}: {config[key]}", ""]
    lines += [f"![{directory.name}]({directory.name}/plot.png)", ""]
    lines.append(f"{len(rows)} cells; local norm 10^{min(logs):.3f} to 10^{max(logs):.3f}." if logs
                 else f"{len(rows)} cells.")
    if ratios:
        lines[-1] += f" Best bound over value: {spread(ratios)}."
    if config.get("plot", {}).get("kind") == "map":
        lines += [line for kind in ("proven", "published") for line in provenance(rows, kind)]
    if "invert" in config:
        ends = [v for v in last if v is not None]
        lines.append(f"Inverted by {config['invert']['iterations']} iterations: relative errors {min(ends):.2g} to {max(ends):.2g}.")
    searched = [r["exact_search_missed"] for r in rows if r.get("exact_search_missed")]
    if "exact" in config:
        closed = sum(r["exact_finished"] == "1" for r in rows)
        lines.append(f"Supremum enclosed to a relative {config['exact']['tolerance']:g} in {closed} of {len(rows)} "
                     f"cells; the search stayed below it in {searched.count('1')} of {len(searched)}.")
        lines += [line for kind in ("proven", "published") for line in provenance(rows, kind)]
    if all("lower_certified" in r for r in rows):
        certified = sum(bool(r["lower_certified"]) for r in rows)
        lines.append(f"Values certified in ball arithmetic: {certified} of {len(rows)}.")
    fit = directory / "fit.csv"
    if fit.exists():
        with fit.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                cells = ", ".join(f"{k} {v}" for k, v in row.items() if v)
                lines.append(f"Fit: {cells}.")
    return "\n".join(lines) + "\n"


def certified(directory):
    """The record of `tightlip certify`, as experiments/livit/results.py leaves it."""
    found = json.loads((directory / "certify.json").read_text(encoding="utf-8"))
    rows = ", ".join(f"{row['certified']:.1%} at {row['epsilon']:g} ({row['attacked']:.1%} under attack)"
                     for row in found["table"] if row["epsilon"] in (0.25, 0.5, 1))
    return "\n".join([
        f"## {directory.name}", "", "Proven l2 radii of a small vision transformer on Fashion-MNIST", "",
        "How much of the accuracy is proven, and how much do attacks leave?", "",
        "The paper: certified accuracy of small vision transformers by a bound at the clean activations (Havens, Araujo, Zhang, Hu 2024).", "",
        f"![{directory.name}]({directory.name}/plot.png)", "",
        f"{found['count']} images, clean accuracy {found['clean']:.1%}, median proven radius "
        f"{found['median_radius']:.3g}. Certified: {rows}."]) + "\n"


def main():
    results = pathlib.Path(sys.argv[1])
    names = sorted([p.parent for p in results.glob("*/manifest.json")] +
                   [p.parent for p in results.glob("*/certify.json")])
    head = ("# Results\n\nWritten by `make results` from the records beside each plot; numbers are logarithms of the\n"
            "data in `data.csv`. A value is found (a lower bound to rounding), a bound is a theorem.\n\n")
    (results / "README.md").write_text(head + "\n".join(
        (section if (p / "manifest.json").exists() else certified)(p) for p in names), encoding="utf-8")


main()
