"""Ascents side by side on a panel of 24 cells, as a performance profile."""
from sides import lines

CELLS = 24


def measure(directory):
    return [row for cell in range(CELLS) for row in lines(directory / "panel", cell)]


def profile(rows, key, factors):
    """Share of cells that each method solves within each factor of the best method's cost."""
    best = {}
    for r in rows:
        if r["reached"]:
            best[r["cell"]] = min(best.get(r["cell"], float("inf")), r[key])
    methods = list(dict.fromkeys(r["method"] for r in rows))
    return {m: [sum(r["reached"] and r[key] <= f * best[r["cell"]] for r in rows
                    if r["method"] == m) / CELLS for f in factors] for m in methods}


def show(rows):
    print(f"\n{CELLS} cells (dot, causal, L2; n from 2 to infinity; radius 1 and 3): share solved to "
          f"99.9 % of the best known value\nwithin a factor of the cheapest method")
    factors = (1, 2, 4, 16, float("inf"))
    for key in ("evaluations", "seconds"):
        heads = "".join(f"{'solved' if f == float('inf') else f'x {f}':>8}" for f in factors)
        print(f"{key:<18}{heads}")
        for method, shares in profile(rows, key, factors).items():
            print(f"  {method:<16}" + "".join(f"{s:>8.0%}" for s in shares))
    if not any("NLopt" in r["method"] for r in rows):
        print("NLopt rows skipped: not there when the benchmark was built (Debian: libnlopt-dev)")
