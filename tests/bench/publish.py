#!/usr/bin/python3
"""What is kept of a benchmark: bench.json and two plots in a directory for each processor, and the tables of all of
them in README.md and OUTPUT/README.md.

    publish.py --check OUTPUT    whether the tables are those of OUTPUT/*/bench.json"""
import json
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True

import ascents  # pylint: disable=wrong-import-position
import scaling  # pylint: disable=wrong-import-position
from sides import place, plain  # pylint: disable=wrong-import-position

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
BEGIN, END = "<!-- table of results/bench -->", "<!-- end of the table -->"
ASCENTS = "<!-- table of ascents -->"


def evaluation_rows(result, shown):
    """Kernel, time, share of the peak, share of the bound, torch."""
    for r in result["evaluation"]:
        what = "value and gradient, {m} atoms in dimension {d}".format(**r)
        sides = [("ours", "bound_share", what), ("beside", "beside_share", what + ", one of eight side by side")]
        for side, share, name in shown([side for side in sides if side[0] in r]):
            time = r[side]["median"]
            torch = f"{r['torch']['median'] / time:.0f} times as long" if "torch" in r else "not measured"
            yield (name, f"{time * 1e6:.3g} us", f"{r['operations'] / time / r['peak']:.0%}", f"{r[share]:.0%}", torch)


def layer_rows(result, shown):
    for r in result["layers"]:
        if "torch" not in r or r["precision"] != "mixed" or not shown(r):  # mixed: the default
            continue
        least = "" if r["torch"]["reached"] else "more than "
        yield (f"norm to 1e-6, width {r['d']}, {r['heads']} head{'s' * (r['heads'] > 1)}, "
               f"n = {r['n']}{', causal' * (r['mask'] == 'causal')}", f"{r['seconds']:.2g} s", f"{r['share']:.0%}",
               f"{r['share']:.0%}", f"{least}{r['torch_ratio']:.0f} times as long")


def markdown(head, rows):
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join([BEGIN, *("| " + " | ".join(line) + " |" for line in lines), END])


def table(results):
    """Everything, processor after processor."""
    head = ("kernel, one thread", "time", "share of a large product's rate", "of its bound", "torch takes")
    rows = []
    for result in results:
        rows += [(f"**{plain(result['processor'])}**", "", "", "", ""), *evaluation_rows(result, lambda sides: sides),
                 *layer_rows(result, lambda r: True)]
    return markdown(head, rows)


def small_table(results):
    """As a search and a measured layer meet them, a column for each processor."""
    columns = [{what: f"{time}, {bound}, {torch.replace(' times as long', ' x')}" for what, time, _, bound, torch in
                [*evaluation_rows(result, lambda sides: sides[-1:]),
                 *layer_rows(result, lambda r: (r["d"], r["n"]) in ((768, 128), (768, 512), (64, 2048)))]}
               for result in results]
    names = list(dict.fromkeys(what for column in columns for what in column))
    return markdown(("time, share of its bound, torch takes", *(plain(r["processor"]) for r in results)),
                    [(name, *(column.get(name, "") for column in columns)) for name in names])


def between(path, begin, end):
    text = path.read_text()
    if text.count(begin) != 1 or end not in text[text.index(begin):]:
        sys.exit(f"{path}: expected one '{begin}' and '{end}' behind it")
    at = text.index(begin)
    return text[at:text.index(end, at) + len(end)]


def tables(output):
    """Each file, its table now and what it should be."""
    results = [json.loads(path.read_text()) for path in sorted(output.glob("*/bench.json"))]
    latest = max(results, key=lambda r: r["date"])
    ascents_table = "\n".join([ASCENTS, *ascents.table(latest["panel"]), END])
    own = output / "README.md"
    for path, begin, new in ((README, BEGIN, small_table(results)), (own, BEGIN, table(results)), (own, ASCENTS, ascents_table)):
        yield path, between(path, begin, END), new


def plot(path, settings, curves):
    """Curves: title, style, points."""
    data = "".join(f"$c{i} << E\n" + "".join(f"{x:.6g} {y:.6g}\n" for x, y in points) + "E\n"
                   for i, (_, _, points) in enumerate(curves))
    named = ", ".join(f"$c{i} with {style} lw 2 title '{title}'"
                      for i, (title, style, _) in enumerate(curves))
    text = f"""{data}set terminal pngcairo size 900,600 font 'DejaVu Sans,11'
set output '{path}'
set key bottom right
{settings}plot {named}
"""
    subprocess.run(["gnuplot"], input=text, text=True, check=True)


def plot_scaling(rows, output):
    curves = []
    for r in rows:
        curves.append((f"{scaling.MEANING[r['variable']]}: exponent {r['exponent']:.2f}", "linespoints",
                       [(s, t * 1e6) for s, t in zip(r["sizes"], r["seconds"])]))
    plot(output / "scaling.png", """set logscale xy
set grid
set xlabel 'size'
set ylabel 'microseconds, one thread'
set title 'Cost against each size, exponents fitted to the larger half'
""", curves)


def plot_profile(rows, output):
    factors = [2 ** (i / 4) for i in range(33)]
    cells, seeds = (len({r[key] for r in rows}) for key in ("cell", "seed"))
    plot(output / "profile.png", f"""set logscale x 2
set yrange [0:1.02]
set grid
set xlabel 'evaluations, as a multiple of the fewest any method needed'
set ylabel 'share of the runs solved ({cells} cells, {seeds} seeds)'
set title 'Evaluations to 99.9 % of the best known value'
""", [(method, "steps", zip(factors, shares))
      for method, shares in ascents.profile(rows, "evaluations", factors).items()])


def publish(result, output):
    own = place(output, result["processor"])
    (own / "bench.json").write_text(json.dumps(result, indent=1) + "\n")
    plot_scaling(result["scaling"], own)
    plot_profile(result["panel"], own)
    for path, old, new in tables(output):
        path.write_text(path.read_text().replace(old, new))
    print(f"written: {own}/bench.json, scaling.png, profile.png, and the tables in README.md and {output}/README.md")


def main():
    if len(sys.argv) != 3 or sys.argv[1] != "--check":
        sys.exit(__doc__)
    output = pathlib.Path(sys.argv[2])
    if not any(output.glob("*/bench.json")):
        print(f"table of speeds not checked: no {output}/*/bench.json; 'make bench-results' makes one")
        return
    for file, old, new in tables(output):
        if old != new:
            sys.exit(f"{file}: its table is not that of {output}/*/bench.json: run 'make bench-results'")


if __name__ == "__main__":
    main()
