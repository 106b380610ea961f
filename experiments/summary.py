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
            trained += [(directory.name, block, *((float(fits[y, block]["slope_95"]), float(fits[y, block]["half_95"]))
                                                  for y in ("lower", "jt-f")))
                        for kind, block in fits if kind == "lower"]
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
        lines += ["", *fit_lines(table_of(fit))]
    return "\n".join(lines) + "\n"


def fit_lines(rows):
    """The slopes of a plot as its legend has them, to four digits."""
    power = next((r["exponent"] for r in rows if r.get("exponent")), "")
    lines = ["| fitted | points | slope, 95 % |" + (f" C of C x^{float(power):g} |" if power else ""),
             "|---|---|---|" + ("---|" if power else "")]
    for r in rows:
        name = ", ".join(filter(None, (r["y"], r["series"])))
        slope, half = float(r["slope_95"]), float(r["half_95"])
        said = f"{slope:.4g} ± {half:.4g}" if half > 1e-9 else f"{slope:.4g} (exact)"
        constant = f" {float(r['constant']):.4g} |" if power else ""
        lines.append(f"| {name} | {r['points']} | {said} |{constant}")
    return lines


COLUMNS = """Logarithms also hold what is beyond the range of doubles. An empty cell: none, or not asked for.

| columns | what | scale |
|---|---|---|
| `n`, `R`, `seed`, .. | the variables of the experiment | values, or words |
| `lower`, `lower_certified` | the value found or measured; the same certified, rounded down | values |
| `ratio`, `proven_ratio`, `published_ratio` | best bound of all, proven here, published, over the value | values |
| every name that ends in `_log10` | the same and others: `proven_log10` the best proven bound, `joint_log10` and `split_log10` the two blocks of the norm, `given_log10` the value at the given tokens, `min_mass_log10` the least mass | logarithms to base ten |
| `bound:KEY`, `norm:NAME` | a bound; another norm at the same input | logarithms to base ten |
| `certified:KEY` | the same bound, certified, rounded up | values |
| `best_bound`, `best_proven`, `best_published` | which bound it is | words |
| `atoms`, `exact_*`, `iteration`, `length`, `mean_radius`, .. | counts, enclosures of the supremum, what the tokens have | values |
| `split`, `clean`, `certified`, `standing` | whether the split block decides; whether an image is answered right, proven, withstands the attack | 1 or 0 |

"""


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
    head = ("# Results\n\nWritten by `make results` from the records beside each plot. A value is found (a lower bound to rounding), a\n"
            "bound is a theorem; ± is a 95 % interval. [What the columns of `data.csv` hold](#columns-of-datacsv).\n\n")
    text = head + "\n".join([growth(names), *map(section, names)]) + "\n## Columns of data.csv\n\n" + COLUMNS.rstrip() + "\n"
    page = results / "README.md"
    if "--check" not in sys.argv:
        page.write_text(text, encoding="utf-8")
    elif page.read_text(encoding="utf-8") != text:
        sys.exit(f"{page}: not what the results say; expected the output of experiments/summary.py")


main()
