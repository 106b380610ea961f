#!/usr/bin/python3
"""Timings of one run, each after a check of the answer:

    bench.py DIRECTORY [OUTPUT]   the directory of the built drivers; writes bench.json there, and
                                  with OUTPUT there too, with plots and the table in README.md

Everything is processor time of one thread. Sides take turns within a round, each with the best of
three walks; the table shows the median over the rounds with the smallest and largest. Debian's
python3-torch gives the other side; without it those rows are left out."""
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # nothing is left beside the sources
import kernels  # noqa: F401
import ascents
import layers
import publish
import scaling
from sides import instructions, lines, other_blas, processor, shown, spread, torch_side
import sides
import forward

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "experiments/data/svtr"
# m, d, ratio to torch that is aimed for (0: none)
SIZES = ((2, 1, 0), (4, 2, 100), (8, 4, 0), (16, 8, 50), (32, 8, 100), (8, 64, 0))
POINTS, DENSE_POINTS, TORCH_POINTS, ROUNDS, REPEATS, SEED = 64, 8, 4, 7, 3, 1
VALUE_LIMIT, GRADIENT_LIMIT = 1e-9, 1e-6
BEST_KNOWN, RADIUS, TOKENS, ATOMS, WIDTH = 1133.0, 4.0, 10 ** 4, 4, 2  # g = 16
# Of the rates 0.01, 0.03 and 0.1 the middle one reached the aim soonest.
SEEDS, ADAM = (1, 2, 3), {"steps": 1000, "rate": 0.03, "cap": 10.0}


class Driver:
    """The evaluation driver, which walks its points whenever asked."""

    def __init__(self, directory, m, d):
        self.count = POINTS if m * d <= 256 else 16
        self.pipe = subprocess.Popen(
            [str(word) for word in (directory / "evaluate", m, d, self.count, SEED)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        read = [self.pipe.stdout.readline() for _ in range(self.count + 1)]
        if not read[-1]:
            sys.exit("bench: evaluate failed")
        *self.points, self.about = [json.loads(line) for line in read]

    def ask(self, word, count):
        self.pipe.stdin.write(f"{word} {count}\n")
        self.pipe.stdin.flush()
        answer = self.pipe.stdout.readline()
        if not answer:
            sys.exit("bench: evaluate failed")
        return json.loads(answer)

    def walk(self, side, count):
        return self.ask(side, count)

    def close(self):
        self.pipe.stdin.close()
        self.pipe.wait()


def of_bound(bounds, which, taken):
    """Both of the same round, so that the pace of the machine in it cancels."""
    return statistics.median(bound[which] / time for bound, time in zip(bounds, taken))


def evaluation(directory, m, d, aim):
    driver = Driver(directory, m, d)
    row = {"m": m, "d": d, "aim": aim, **driver.about,
           "instructions": instructions(directory, m, d) if m * d <= 256 else None}
    large = m * d > 256
    rounds, repeats = (3, 1) if large else (ROUNDS, REPEATS)
    walks = {"ours": lambda: driver.walk("ours", driver.count),
             "dense": lambda: driver.walk("dense", 1 if large else DENSE_POINTS)}
    if row["lanes"] > 1:
        row["beside_instructions"] = instructions(directory, m, d, beside=True)
        walks["beside"] = lambda: driver.walk("beside", driver.count)
    if torch_side:
        count = 1 if large else TORCH_POINTS
        points = driver.points[:: driver.count // count][:count]
        row["numpy_value_difference"] = max(
            abs(math.expm1(torch_side.numpy_value(p, m, d) - p["log_value"])) for p in points)
        if row["numpy_value_difference"] > VALUE_LIMIT:
            sys.exit("bench: numpy differs in value")
        walks["numpy"] = lambda: torch_side.time_numpy(points, m, d)
        row["torch_forms"] = torch_side.fastest(points[0], m, d)
        form = next(iter(row["torch_forms"]))
        value, gradient = torch_side.differences(form, points, m, d)
        row.update(torch_form=form, torch_value_difference=value,
                   torch_gradient_difference=gradient)
        if not (value <= VALUE_LIMIT and gradient <= GRADIENT_LIMIT):
            sys.exit(f"bench: torch differs by {value:.2g} in value, {gradient:.2g} in gradient")
        walks["torch"] = torch_side.Walk(form, points, m, d)
    times = {side: [] for side in walks}
    bounds = []
    for _ in range(rounds):
        bounds.append(driver.ask("bound", 1))
        for side, walk in walks.items():
            times[side].append(min(walk() for _ in range(repeats)))
    driver.close()
    row["peak"] = statistics.median(b["peak"] for b in bounds)
    row["rate"] = row["operations"] / statistics.median(times["ours"])
    row["share"] = row["rate"] / row["peak"]
    row["bound"] = min(bounds, key=lambda b: b["bound"])
    row["bound_share"] = of_bound(bounds, "bound", times["ours"])
    if row["lanes"] > 1:
        row["beside_share"] = of_bound(bounds, "beside", times["beside"])
    for side, taken in times.items():
        row[side] = spread(taken)
        row[side + "_ratio"] = spread([other / own for other, own in zip(taken, times["ours"])])
    row["search"] = lines(directory / "search", "rate", m, d, 4000)[0]
    return row


def print_evaluations(rows):
    print("\nvalue and gradient in tokens, log-masses and A: microseconds per evaluation, median "
          "[least, most]")
    print(f"{'m':>4}{'d':>3}  {'side':<13}{'time':>28}  {'ratio to tightlip':>24}  "
          f"{'value off':>9}  {'gradient off':>12}")
    for row in rows:
        parts = (("ours", "tightlip", "", ""), ("beside", "side by side", "", ""),
                 ("dense", "dense", "value_difference", "gradient_difference"),
                 ("numpy", "numpy, value", "numpy_value_difference", ""),
                 ("torch", "torch", "torch_value_difference", "torch_gradient_difference"))
        for side, name, value, gradient in parts:
            if side not in row:
                continue
            ratio = shown(row[side + "_ratio"], 1) if side != "ours" else ""
            off = [f"{row[key]:.1e}" if key else "" for key in (value, gradient)]
            print(f"{row['m']:>4}{row['d']:>3}  {name:<13}{shown(row[side]):>28}  {ratio:>24}  "
                  f"{off[0]:>9}  {off[1]:>12}")
        search = row["search"]
        print(f"{'':7}  in a search of {search['evaluations']} evaluations, restarts at once: "
              f"{search['restarts']}, everything counted: "
              f"{search['seconds'] * 1e6:.4g}")
        count = (f", {row['instructions']:.0f} instructions (callgrind)"
                 if row["instructions"] else "")
        print(f"{'':7}  {row['operations']:.4g} operations, {row['steps']:.3g} steps: "
              f"{row['rate'] / 1e9:.3g} GFLOP/s, {row['share']:.1%} of {row['peak'] / 1e9:.3g} in a "
              f"large product{count}")
        bound = row["bound"]
        print(f"{'':7}  bound {bound['bound'] * 1e6:.3g}, {row['bound_share']:.0%} of the time: "
              + ", ".join(f"{part} {bound[part] * 1e6:.3g}"
                          for part in ("throughput", "divider", "chain")))
        if "beside" in row:
            count = (f", {row['beside_instructions']:.0f} instructions"
                     if row["beside_instructions"] else "")
            print(f"{'':7}  side by side: bound {bound['beside'] * 1e6:.3g}, "
                  f"{row['beside_share']:.0%} of the time{count}")
        if "torch" in row and row["aim"]:
            word = "reached" if row["torch_ratio"]["median"] >= row["aim"] else "missed"
            forms = "; ".join(f"{form} {seconds * 1e6:.4g}"
                              for form, seconds in row["torch_forms"].items())
            print(f"{'':7}  torch is the fastest of: {forms}\n"
                  f"{'':7}  aim of {row['aim']} times torch {word}")


def print_costs(row):
    bound = row["bound"]
    print(f"\nwhat the bounds are made of, measured in the same run (nanoseconds; throughput / latency), "
          f"and how many of each\n{row['m']} atoms in dimension {row['d']} need / wait for one another; "
          f"vectors in registers reach {bound['registers'] / 1e9:.3g} GFLOP/s")
    for part in bound["table"]:
        print(f"  {part['operation']:<9}{part['each'] * 1e9:>8.3g} /{part['latency'] * 1e9:>6.3g}"
              f"{part['count']:>10.4g} /{part['chain']:>6.4g}")


def reach(directory, form):
    target = 0.99 * BEST_KNOWN
    rows = []
    for seed in SEEDS:
        for starts in ("all", "plain"):
            found = lines(directory / "search", "reach", target, seed, starts)[0]
            rows.append({"side": f"tightlip, starts: {starts}", "seed": seed, **found})
        if torch_side:
            found = torch_side.adam_search(form, target, seed, ATOMS, WIDTH, RADIUS, TOKENS, **ADAM)
            rows.append({"side": "torch, Adam", "seed": seed, **found})
    return rows


def print_reach(rows):
    print(f"\n99 % of {BEST_KNOWN:g} at g = 16, n = 10^4, worst A, d = 2, {ATOMS} atoms (tightlip: "
          f"whole multiplicities, restarts of 500;\ntorch: free masses, restarts of "
          f"{ADAM['steps']} steps at rate {ADAM['rate']}, at most {ADAM['cap']:g} s; "
          f"seconds of processor time)")
    print(f"{'side':<24}{'seed':>5}{'seconds':>10}{'evaluations':>13}{'restarts':>10}{'value':>10}")
    for row in rows:
        note = "" if row["reached"] else "   not reached"
        print(f"{row['side']:<24}{row['seed']:>5}{row['seconds']:>10.4g}{row['evaluations']:>13}"
              f"{row['restarts']:>10}{row['value']:>10.6g}{note}")


def print_threads(rows):
    wall, cpu = ({t: statistics.median(r[key] for r in rows if r["threads"] == t) for t in (1, 2)}
                 for key in ("wall", "cpu"))
    load = os.getloadavg()[0]
    print(f"\n96 restarts of 1000 evaluations, 1 and 2 threads in turn, same value to the last "
          f"bit: {wall[1]:.3g} s and {wall[2]:.3g} s\nby the clock, {wall[1] / wall[2]:.2f} times "
          f"faster; processor time grows by {100 * (cpu[2] / cpu[1] - 1):.1f} % (load {load:.1f} on "
          f"{os.cpu_count()} processors:\nthe clock means little when other programs run)")


def print_trained(rows):
    print("\nnorm of trained block 1, all 8 heads, width 120 (dense: token Jacobian, LAPACK)")
    print(f"{'n':>5}{'value':>12}{'seconds':>10}{'dense':>10}{'ratio':>8}{'residual':>10}")
    for row in rows:
        dense = row["dense_seconds"]
        tail = f"{dense:>10.4g}{dense / row['seconds']:>8.3g}" if dense else f"{'':18}"
        print(f"{row['n']:>5}{row['value']:>12.8g}{row['seconds']:>10.4g}{tail}"
              f"{row['residual']:>10.1e}")


def print_gemm(rows):
    print("\nsmall products m x n x k, nanoseconds: tl_gemm / BLAS")
    for transposed in (False, True):
        cells = [f"{r['m']}x{r['n']}x{r['k']}: {r['ours'] * 1e9:.0f}/{r['blas'] * 1e9:.0f}"
                 for r in rows if r["transposed"] == transposed]
        for i in range(0, len(cells), 6):
            print(f"  {'A B^T' if transposed else 'A B  '}  " + "  ".join(cells[i:i + 6]))


def small(directory, result):
    """Few atoms: evaluations, searches, threads."""
    result["evaluation"] = [evaluation(directory, *size) for size in SIZES]
    about = result["evaluation"][0]
    result.update((key, about[key]) for key in ("version", "compiler", "blas"))
    print(f"tightlip {about['version']}, {about['compiler']}\nprocessor {result['processor']}, "
          f"{result['processors']} of them, 1 thread on every side\nBLAS {about['blas']}")
    if torch_side:
        result["torch"] = {"version": torch_side.torch.__version__, "blas": other_blas(),
                           "threads": torch_side.torch.get_num_threads()}
        print(f"torch {result['torch']['version']} on {result['torch']['blas']}, threads "
              f"{result['torch']['threads']}")
    else:
        print(sides.WHY_NOT)
    if not about["instructions"]:
        print("instruction counts skipped: no valgrind")
    print_evaluations(result["evaluation"])
    print_costs(result["evaluation"][1])
    result["reach"] = reach(directory, next(
        (r["torch_form"] for r in result["evaluation"] if "torch_form" in r and r["m"] == 4), None))
    print_reach(result["reach"])
    result["threads_1_2"] = lines(directory / "search", "threads", 96, 1000)
    print_threads(result["threads_1_2"])


def main():
    directory = pathlib.Path(sys.argv[1])
    result = {"processor": processor(), "processors": os.cpu_count(), "threads": 1,
              "date": time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime())}
    small(directory, result)
    result["trained"] = [lines(directory / "trained", FIXTURES, 1, *size)[0]
                         for size in ((16, "dense"), (32,), (160,))]
    print_trained(result["trained"])
    result["layers"] = layers.measure(directory)
    layers.show(result["layers"])
    result["panel"] = ascents.measure(directory)
    ascents.show(result["panel"])
    result["scaling"] = scaling.measure(directory, Driver)
    scaling.show(result["scaling"])
    result["gemm"] = lines(directory / "gemm")
    print_gemm(result["gemm"])
    result["forward"] = forward.forward(directory)
    path = directory / "bench.json"
    path.with_suffix(".new").write_text(json.dumps(result, indent=1) + "\n")
    path.with_suffix(".new").rename(path)
    print(f"\nwritten: {path}")
    if len(sys.argv) > 2:
        publish.publish(result, pathlib.Path(sys.argv[2]))


if __name__ == "__main__":
    main()
