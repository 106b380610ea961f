#!/usr/bin/env python3
"""summary.py RESULTS [--check]: writes RESULTS/README.md from the manifests and tables of its experiments; --check says
whether it is what it would write."""
import collections
import csv
import json
import math
import pathlib
import sys

sys.dont_write_bytecode = True  # nothing is left beside the sources

import exponents


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


def table_of(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def config_of(directory):
    return json.loads((directory / "manifest.json").read_text(encoding="utf-8"))["config"]


def is_measured_model(config):
    return "model" in config.get("attention", {}) and "search" not in config


def growth(directories):
    """The page on growth with n: experiments on models, and trained layers beside jt-f."""
    measured, trained = [], []
    for directory in directories:
        config = config_of(directory)
        if is_measured_model(config):
            measured.append((directory.name, table_of(directory / "data.csv")))
        elif "module" in config.get("attention", {}) and "jt-f" in config.get("compare", []):
            fits = {(r["y"], r["series"]): r for r in table_of(directory / "fit.csv")}
            trained += [(directory.name, block, *((float(fits[y, block]["slope"]), float(fits[y, block]["standard_error"]))
                                                  for y in ("lower", "jt-f")), int(r["points"]))
                        for (kind, block), r in fits.items() if kind == "lower"]
    return "\n".join(exponents.page(measured, trained))


def section(directory):
    config = config_of(directory)
    rows = table_of(directory / "data.csv")
    if "invert" in config:
        last = [number(r["error"]) for r in rows if r["iteration"] == str(config["invert"]["iterations"])]
        rows = [r for r in rows if r["iteration"] == "0"]
    logs = [v for v in (number(r.get("lower_log10")) for r in rows) if v is not None]
    ratios = [v for v in (number(r.get("ratio_log10")) for r in rows) if v is not None]
    lines = [f"## {directory.name}", "", config.get("title", directory.name), "",
             config.get("question", ""), ""]
    for key, what in (("paper", "The paper"), ("finding", "Found here")):
        if key in config:
            lines += [f"{what}: {config[key]}", ""]
    lines += [f"![{directory.name}]({directory.name}/plot.png)", ""]
    if "network" in config:
        return "\n".join(lines + shares(config, rows)) + "\n"
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
        lines.append(f"Values certified: {certified} of {len(rows)}.")
    if is_measured_model(config):
        return "\n".join(lines + ["", *exponents.table(rows)]) + "\n"
    fit = directory / "fit.csv"
    if fit.exists():
        for row in table_of(fit):
            cells = ", ".join(f"{k} {v}" for k, v in row.items() if v)
            lines.append(f"Fit: {cells}.")
    return "\n".join(lines) + "\n"


def shares(config, rows):
    """Images of a network: what is proven and what attacks leave."""
    table = collections.defaultdict(list)
    for row in rows:
        table[float(row["epsilon"])].append(row)
    mean = lambda part, key: sum(row[key] == "1" for row in part) / len(part)
    said = [f"{mean(part, 'certified'):.1%} at {epsilon:g}" +
            (f" ({mean(part, 'standing'):.1%} under attack)" if "pgd" in config["network"] else "")
            for epsilon, part in table.items() if epsilon in (0.25, 0.5, 1)]
    refuted = sum(row["certified"] == "1" and row["standing"] == "0" for row in rows)
    return [f"{len(table[0.0])} images, clean accuracy {mean(table[0.0], 'clean'):.1%}. Certified: "
            f"{', '.join(said)}. Attacks within a certified radius: {refuted}."]


def main():
    results = pathlib.Path(sys.argv[1])
    names = sorted(p.parent for p in results.glob("*/manifest.json"))
    head = ("# Results\n\nWritten by `make results` from the records beside each plot; numbers are logarithms of the\n"
            "data in `data.csv`. A value is found (a lower bound to rounding), a bound is a theorem.\n\n")
    text = head + "\n".join([growth(names), *map(section, names)])
    page = results / "README.md"
    if "--check" not in sys.argv:
        page.write_text(text, encoding="utf-8")
    elif page.read_text(encoding="utf-8") != text:
        sys.exit(f"{page}: not what the results say; expected the output of experiments/summary.py")


main()
