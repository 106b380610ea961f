#!/usr/bin/env python3
"""Compares `tightlip norm --json` with the reference values of an independent implementation.

usage: check.py PROGRAM [GOLDEN_DIRECTORY [SVTR_DIRECTORY]]

Covers every *.json in GOLDEN_DIRECTORY (spectral norm, second singular value, norms inf, 1 and fro),
and every case of SVTR_DIRECTORY/expected.json. Prints what disagrees and a last line `N passed, N failed`.
"""
import json
import pathlib
import subprocess
import sys


class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, ok, text):
        self.passed += ok
        self.failed += not ok
        if not ok:
            print(f"FAILED {text}")

    def close(self, what, found, expected, rtol):
        ok = isinstance(found, (int, float)) and abs(found - expected) <= rtol * abs(expected)
        self.check(ok, f"{what}: expected {expected!r} to {rtol}, found {found!r}")


def run(program, arguments):
    return subprocess.run([program, "norm", "--json", *arguments], capture_output=True, text=True)


def norm(program, arguments, tally, what):
    """The JSON document, or None after a failure that has been counted."""
    done = run(program, arguments)
    if done.returncode != 0:
        tally.check(False, f"{what}: exit code {done.returncode}: {done.stderr.strip()}")
        return None
    return json.loads(done.stdout)


def check_golden(program, directory, tally):
    files = sorted(directory.glob("*.json"))
    tally.check(bool(files), f"{directory}: no golden files")
    for path in files:
        problem = json.loads(path.read_text())
        expect = problem["expect"]
        result = norm(program, [str(path)], tally, path.name)
        if result:
            count = sum(problem.get("multiplicity", [1] * len(problem["tokens"])))
            tally.close(f"{path.name}: n", result["n"], count, 0)
            tally.close(f"{path.name}: norm 2", result["value"], expect["norm_2"], expect["rtol"])
            tally.close(f"{path.name}: second singular value", result["second"],
                        expect["norm_2_second"], expect["rtol"])
        for name in ("inf", "1", "fro"):
            result = norm(program, [str(path), "--norm", name], tally, path.name)
            if result:
                tally.close(f"{path.name}: norm {name}", result["value"],
                            expect[f"norm_{name}"], expect["rtol"])


def check_svtr(program, directory, tally):
    expected = json.loads((directory / "expected.json").read_text())
    rtol = expected["tolerance"]["rtol"]
    for case in expected["cases"]:
        arguments = ["--weights", str(directory / expected["weights_file"]),
                     "--tokens", str(directory / expected["tokens_file"]),
                     "--module", f"block{case['block']}.attn", "--heads", "8",
                     "--tensor", case["tokens"]]
        if case["map"] == "head":
            arguments += ["--head", str(case["head"])]
        what = f"{case['tokens']} {case['map']} {case.get('head', '')}".strip()
        result = norm(program, arguments, tally, what)
        if result:
            tally.close(f"{what}: norm 2", result["value"], case["norm_2"], rtol)
            tally.close(f"{what}: second singular value", result["second"],
                        case["norm_2_second"], rtol)


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    here = pathlib.Path(__file__).resolve().parent
    golden = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else here
    svtr = here.parent.parent / "experiments/data/svtr"
    if len(sys.argv) > 3:
        svtr = pathlib.Path(sys.argv[3])
    tally = Tally()
    check_golden(sys.argv[1], golden, tally)
    check_svtr(sys.argv[1], svtr, tally)
    print(f"{tally.passed} passed, {tally.failed} failed")
    sys.exit(1 if tally.failed else 0)


main()
