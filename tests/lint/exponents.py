"""Checks the page of results: intervals of experiments/exponents.py against closed forms, what experiments/summary.py makes
of the committed results, and the exponents in it against those that the program has fitted to the same rows (fit.csv).

Where every draw has the same lengths, the slope through all points is the mean of the draws' slopes, whatever the two
programs make of them."""
import csv
import math
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, "experiments")

import exponents

PAGE = pathlib.Path("experiments/summary.py")
BALANCED = ("gpt2_random", "bert_random", "bert_long")  # seeds at the same lengths
problems = []


def expect(what, found, wanted, tolerance):
    if not abs(found - wanted) <= tolerance:
        problems.append(f"{what}: expected {wanted:.6g}, found {found:.6g}")


def check_intervals():
    power = {0: [(x, 0.3 * x + 1) for x in (0, 1, 2, 4)]}
    bent = {0: [(0, 0), (1, 0.5 + 3), (2, 1)]}  # residuals -1, 2, -1: error sqrt(6/1/2)
    two = {s: [(x, s * x) for x in (0, 1, 2)] for s in (0.2, 0.4)}
    for what, draws, slope, half in (("a power law", power, 0.3, 0),
                                     ("a bent line", bent, 0.5, 12.706 * math.sqrt(3)),
                                     ("two draws", two, 0.3, 12.706 * 0.1)):
        found = exponents.interval(draws)
        expect(f"{what}, exponent", found[0], slope, 1e-12)
        expect(f"{what}, interval", found[1], half, 1e-3)
    for freedom, quantile in ((1, 12.706), (10, 2.228), (12, 2.179), (30, 2.042), (1000, 1.962)):
        expect(f"Student's quantile at {freedom}", exponents.student(freedom), quantile, 0.003)
    for norm, half, says in ((0.1, 0.05, "grows"), (-0.1, 0.05, "falls"), (0.1, 0.2, "not told from none")):
        if exponents.growth(norm, half) != says:
            problems.append(f"exponent {norm} +- {half}: expected {says!r}, found {exponents.growth(norm, half)!r}")
    if exponents.table([{"layer": "0", "n": n, "mean_radius": "1", "lower_log10": "0", "norm:jt-f": "0"} for n in "24"]):
        problems.append("two lengths: expected no exponent")


def is_current(place):
    return subprocess.run([sys.executable, PAGE, place, "--check"], capture_output=True).returncode == 0


def page_of(results):
    with tempfile.TemporaryDirectory() as place:
        for manifest in results.glob("*/manifest.json"):
            (pathlib.Path(place) / manifest.parent.name).symlink_to(manifest.parent.resolve())
        done = subprocess.run([sys.executable, PAGE, place], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{PAGE}: {done.stderr}")
        page = pathlib.Path(place) / "README.md"
        text = page.read_text(encoding="utf-8")
        for changed in ("", "x"):
            page.write_text(text + changed, encoding="utf-8")
            if is_current(place) != (not changed):
                problems.append(f"{PAGE} --check: expected a page to be current until it is changed")
        return text


def check_fits(results, name, section):
    rows = re.findall(r"^\| (\d+) \| all \| (-?[\d.]+) ± <?[\d.]+ \| (-?[\d.]+) ±", section, re.M)
    with open(results / name / "fit.csv", encoding="utf-8", newline="") as file:
        slopes = {(row["y"], row["series"].split(" = ")[1]): float(row["slope"]) for row in csv.DictReader(file)}
    if not rows or len(slopes) != 2 * len(rows):
        problems.append(f"{name}: expected {len(slopes)} exponents in the page, found {2 * len(rows)}")
    for layer, norm, other in rows:
        expect(f"{name}, layer {layer}", float(norm), slopes.get(("lower", layer), math.nan), 6e-4)
        expect(f"{name}, layer {layer}, jt-f", float(other), slopes.get(("jt-f", layer), math.nan), 6e-4)


def main():
    results = pathlib.Path("results")
    check_intervals()
    sections = {part.split("\n", 1)[0]: part for part in page_of(results).split("\n## ")[1:]}
    for manifest in results.glob("*/manifest.json"):
        if manifest.parent.name not in sections:
            problems.append(f"{manifest.parent.name}: expected a section in the page")
    for name in BALANCED:
        check_fits(results, name, sections.get(name, ""))
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    sys.exit(1 if problems else 0)


main()
