#!/usr/bin/python3
"""One library for linear algebra against another, in turn on the same problems:

    blas.py OUTPUT DIRECTORY...    directories of drivers built with different libraries

The first is the default. Writes blas.json into OUTPUT, into the place of this processor."""
import json
import os
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True
import kernels  # noqa: E402,F401
from sides import lines, place  # noqa: E402
import bench  # noqa: E402

EVALUATIONS, LAYERS = ((16, 8), (8, 64)), ((768, 12, 128), (64, 1, 1024))
ROUNDS = 3


def measure(directories):
    rows = []
    for m, d in EVALUATIONS:
        drivers = [bench.Driver(path, m, d) for path in directories]
        names = [driver.about["blas"] for driver in drivers]
        for side, what in (("ours", "evaluation"), ("dense", "dense SVD"), ("bound", "large product")):
            times = [[] for _ in drivers]
            for _ in range(ROUNDS):
                for driver, taken in zip(drivers, times):
                    answer = driver.ask(side, 1 if m * d > 256 else 8)
                    taken.append(1 / answer["peak"] if side == "bound" else answer)
            rows.append({"what": f"{what}, m = {m}, d = {d}" if side != "bound" else what,
                         "seconds": dict(zip(names, map(statistics.median, times)))})
        for driver in drivers:
            driver.close()
    for d, heads, n in LAYERS:
        found = [lines(path / "layer", d, heads, n, "none", 1, ROUNDS) for path in directories]
        for i, first in enumerate(found[0]):
            rows.append({"what": f"layer, d = {d}, H = {heads}, n = {n}, {first['precision']}",
                         "seconds": {name: side[i]["seconds"] for name, side in zip(names, found)}})
    return rows


def main():
    output = place(sys.argv[1])
    directories = [pathlib.Path(name) for name in sys.argv[2:]]
    directories = [path for path in directories if (path / "layer").exists()]
    if len(directories) < 2:
        print("BLAS comparison skipped: one build alone")
        return
    rows = measure(directories)
    (output / "blas.json").write_text(json.dumps(rows, indent=1) + "\n")
    names = list(rows[0]["seconds"])
    print(f"\nseconds with {' / '.join(name.split(' NO_')[0] for name in names)}, and their ratio")
    for row in rows:
        first, *others = (row["seconds"][name] for name in names)
        print(f"  {row['what']:<38}{first:>10.4g}" + "".join(
            f"{other:>10.4g}{other / first:>7.2f}" for other in others))


if __name__ == "__main__":
    main()
