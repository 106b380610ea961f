"""Ascents side by side on a panel of 24 cells from 5 seeds each, as a performance profile."""
import math

from sides import lines

CELLS = 24


def measure(directory):
    return [row for cell in range(CELLS) for row in lines(directory / "panel", cell)]


def by_method(rows):
    """For each method its rows by (cell, seed)."""
    methods = {}
    for r in rows:
        methods.setdefault(r["method"], {})[r["cell"], r["seed"]] = r
    return methods


def profile(rows, key, factors):
    """Share of runs that each method solves within each factor of the best method's cost."""
    best = {}
    for r in rows:
        if r["reached"]:
            run = r["cell"], r["seed"]
            best[run] = min(best.get(run, float("inf")), r[key])
    return {m: [sum(r["reached"] and r[key] <= f * best[run] for run, r in runs.items()) / len(runs)
                for f in factors] for m, runs in by_method(rows).items()}


def ratio(rows, key, method, reference):
    """Geometric mean over all runs of the cost against another method's; who does not reach the
    aim has paid its whole budget."""
    methods = by_method(rows)
    ours, theirs = methods[method], methods[reference]
    return math.exp(sum(math.log(ours[run][key] / theirs[run][key]) for run in ours) / len(ours))


def table(rows):
    """Markdown lines: share of runs solved, and mean ratios to the ascent of the search."""
    lines_of = ["| ascent | reaches 99.9 % | evaluations | seconds |", "|---|---|---|---|"]
    for method, (share,) in profile(rows, "evaluations", (float("inf"),)).items():
        ratios = " | ".join(f"{ratio(rows, key, method, 'tightlip ascent'):.2f}" for key in ("evaluations", "seconds"))
        lines_of.append(f"| {method} | {share:.0%} | {ratios} |")
    return lines_of


def show(rows):
    print(f"\n{CELLS} cells (dot, causal, L2; n from 2 to infinity; radius 1 and 3), "
          f"{len({r['seed'] for r in rows})} seeds: share solved to 99.9 % of the best known value"
          f"\nwithin a factor of the cheapest method, and mean ratio to the first ascent")
    factors = (1, 2, 4, 16, float("inf"))
    for key in ("evaluations", "seconds"):
        heads = "".join(f"{'solved' if f == float('inf') else f'x {f}':>8}" for f in factors)
        print(f"{key:<18}{heads}{'ratio':>8}")
        for method, shares in profile(rows, key, factors).items():
            print(f"  {method:<16}" + "".join(f"{s:>8.0%}" for s in shares)
                  + f"{ratio(rows, key, method, 'tightlip ascent'):>8.2f}")
    if not any("NLopt" in r["method"] for r in rows):
        print("NLopt rows skipped: not there when the benchmark was built (Debian: libnlopt-dev)")
