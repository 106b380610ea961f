#!/usr/bin/env python3
"""cost.py PROGRAM MPI_PROGRAM: what ranks add to the processor time (user and system, all processes together, a thread
each) and to the wall-clock time of one process; the least of three runs. Prints the figures of
experiments/cluster/README.md, and how busy the machine was."""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from mpi import LAUNCHER, QUIET  # pylint: disable=wrong-import-position

QUICK = pathlib.Path(__file__).resolve().parents[2] / "experiments/quick.cfg"
QUICK_CELLS, QUICK_RESTARTS = 15, 32
# Next to nothing but scheduling.
SHORT_CELLS, SHORT_RESTARTS = 10, 8000
SHORT = f"""
name = "short"; attention = {{ d = 1; A = -1.0; V = 1.0; }}; domain = {{ kind = "ball"; radius = 1.0; }};
sweep = {{ variable = "n"; values = ({", ".join(str(n + 2) for n in range(SHORT_CELLS))}); }};
search = {{ atoms = 2; restarts = {SHORT_RESTARTS}; evaluations = 1; }}; bounds = ("none"); certify = false;
"""
RANKS = (0, 1, 2, 4)  # 0: without MPI
MILLION = 1_000_000


def seconds(program, ranks, config, out):
    """Processor time and wall-clock time."""
    launcher = [*LAUNCHER, "-n", str(ranks)] if ranks else []
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([*launcher, program, "run", config, "--threads", "1", "--no-plot", "-o", out], env=QUIET, check=True,
                   capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - began


def least(programs, config, out):
    """By number of ranks, over three runs: the least processor time, and the least wall-clock time."""
    times = {ranks: [seconds(programs[ranks > 0], ranks, config, out) for _ in range(3)] for ranks in RANKS}
    return tuple({ranks: min(run[i] for run in runs) for ranks, runs in times.items()} for i in (0, 1))


def main():
    programs = [os.path.abspath(word) for word in sys.argv[1:3]]
    with tempfile.TemporaryDirectory() as directory:
        tmp = pathlib.Path(directory)
        (tmp / "short.cfg").write_text(SHORT, encoding="utf-8")
        load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
        (quick, wall), (short, _) = (least(programs, config, tmp / "out") for config in (QUICK, tmp / "short.cfg"))
        subprocess.run([programs[0], "run", QUICK, "--no-plot", "-o", tmp / "quick"], check=True, capture_output=True)
        record = (tmp / "quick/cells.ndjson").stat().st_size / QUICK_CELLS
    pieces, restarts = QUICK_CELLS * (QUICK_RESTARTS + 1), SHORT_CELLS * SHORT_RESTARTS
    piece = quick[0] / pieces
    # Ranks take equal shares; rank 0 keeps its own.
    handed = [(short[ranks] - short[1]) / (restarts * (ranks - 1) / ranks) for ranks in RANKS if ranks > 1]
    rate = 1 / max(handed)
    hours = quick[0] / QUICK_CELLS * MILLION / 3600
    print(f"| ranks | quick.cfg, {pieces} pieces of {piece * 1e3:.1f} ms | efficiency | wall clock | on {cores} cores "
          f"| {restarts} restarts of {short[0] / restarts * 1e6:.0f} µs |\n|---|---|---|---|---|---|")
    for ranks in RANKS:
        parallel = wall[0] / wall[ranks] / min(max(ranks, 1), cores)
        print(f"| {ranks or 'no MPI'} | {quick[ranks]:.2f} s | {quick[0] / quick[ranks]:.2f} | {wall[ranks]:.2f} s "
              f"| {parallel:.2f} | {short[ranks]:.2f} s |")
    print(f"""
* load of the machine before: {load:.1f} on {cores} cores
* start of `mpirun` and MPI: {quick[1] - quick[0]:.1f} s, once
* a piece handed to another rank, both ends and waiting together: {min(handed) * 1e6:.0f} to {max(handed) * 1e6:.0f} µs
* 10^6 cells of quick.cfg, {quick[0] / QUICK_CELLS:.2f} s each: {hours:.0f} hours of one core, {hours / 64:.1f} of 64 cores
* their messages: {MILLION * (QUICK_RESTARTS + 1):.1e}; their records: {record / 1000:.1f} kB each, {record * MILLION / 1e9:.1f} GB
* at {max(handed) * 1e6:.0f} µs a message rank 0 answers {rate:.0f} a second, which is {rate * piece:.0f} workers with pieces as long""")


if __name__ == "__main__":
    main()
