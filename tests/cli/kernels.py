#!/usr/bin/env python3
"""kernels.py PROGRAM: OpenBLAS has kernels as wide as the processor's vectors, and those of a user who names
some. Last line: `N passed, N failed`."""
import json
import os
import subprocess
import sys

NARROW = {" Prescott ": 128, " Nehalem ": 128, " Barcelona ": 128, " Sandybridge ": 256, " Haswell ": 256, " Zen ": 256}
WIDEST = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}


def kernels(program, core=None):
    env = {key: value for key, value in os.environ.items() if key != "OPENBLAS_CORETYPE"}
    if core:
        env["OPENBLAS_CORETYPE"] = core
    done = subprocess.run([program, "version", "--json"], env=env, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["blas"]


def bits_of_processor():
    flags = set()
    for line in open("/proc/cpuinfo"):
        if line.startswith("flags"):
            flags = set(line.split(":", 1)[1].split())
            break
    return 512 if WIDEST <= flags else 256 if {"avx2", "fma"} <= flags else 128


def as_wide_as_the_processor(program):
    named = kernels(program)
    bits = bits_of_processor()
    return [f"{bits} bits, and {named}" for name, narrow in NARROW.items() if name in named and narrow < bits]


def as_the_user_names_them(program):
    named = kernels(program, "PRESCOTT")
    return [] if " Prescott " in named else [f"Prescott was asked for: {named}"]


def main():
    program = os.path.abspath(sys.argv[1])
    passed = failed = 0
    if " DYNAMIC_ARCH " in kernels(program) and os.uname().machine == "x86_64":
        for check in (as_wide_as_the_processor, as_the_user_names_them):
            wrong = check(program)
            for line in wrong:
                print(f"{check.__name__}: {line}")
            passed, failed = passed + (not wrong), failed + bool(wrong)
    else:
        print("kernels skipped: no OpenBLAS that picks them as it starts")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


main()
