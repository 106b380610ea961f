#!/usr/bin/env python3
"""cost.py PROGRAM MPI_PROGRAM: what ranks add to the processor time (user and system, all processes together, a thread
each) and to the wall-clock time of one process; the least of three runs. Prints the figures of
experiments/cluster/README.md."""
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
TIMES = 8  # as many restarts, so that the start of mpirun does not hide the rest
# Next to nothing but scheduling; next to nothing at all.
SHORT_CELLS, SHORT_RESTARTS = 10, 8000
SEARCH = """
name = "short"; attention = {{ d = 1; A = -1.0; V = 1.0; }}; domain = {{ kind = "ball"; radius = 1.0; }};
sweep = {{ variable = "n"; values = ({}); }};
search = {{ atoms = 2; restarts = {}; evaluations = 1; }}; bounds = ("none"); certify = false;
"""
RANKS = (0, 1, 2, 4)  # 0: without MPI
TOGETHER = 8  # restarts that are a piece: TL_SEARCH_TOGETHER, as these layers are
MILLION = 1_000_000


def seconds(program, ranks, config, out):
    """Processor time and wall-clock time."""
    launcher = [*LAUNCHER, "-n", str(ranks)] if ranks else []
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([*launcher, program, "run", config, "--threads", "1", "--no-plot", "-o", out], env=QUIET, check=True,
                   capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - began


def least(programs, config, out, ranks=RANKS):
    """By number of ranks, over three rounds: the least processor time, and the least wall-clock time."""
    rounds = [{r: seconds(programs[r > 0], r, config, out) for r in ranks} for _ in range(3)]
    return tuple({r: min(times[r][i] for times in rounds) for r in ranks} for i in (0, 1))


def measure(programs, tmp):
    """Times of the quick experiment, the short one and an empty one; bytes of a record of the quick one."""
    for name, cells, restarts in (("short", SHORT_CELLS, SHORT_RESTARTS), ("empty", 1, 1)):
        values = ", ".join(str(n + 2) for n in range(cells))
        (tmp / f"{name}.cfg").write_text(SEARCH.format(values, restarts), encoding="utf-8")
    longer = QUICK.read_text(encoding="utf-8").replace(f"restarts = {QUICK_RESTARTS}", f"restarts = {TIMES * QUICK_RESTARTS}")
    (tmp / "longer.cfg").write_text(longer, encoding="utf-8")
    quick, wall = least(programs, tmp / "longer.cfg", tmp / "quick")
    short, _ = least(programs, tmp / "short.cfg", tmp / "out")
    empty, _ = least(programs, tmp / "empty.cfg", tmp / "out")
    return quick, wall, short, empty, (tmp / "quick/cells.ndjson").stat().st_size / QUICK_CELLS


def main():
    programs = [os.path.abspath(word) for word in sys.argv[1:3]]
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as directory:
        quick, wall, short, empty, record = measure(programs, pathlib.Path(directory))
    per_cell = QUICK_RESTARTS / TOGETHER + 1
    pieces, restarts = int(QUICK_CELLS * (TIMES * QUICK_RESTARTS / TOGETHER + 1)), SHORT_CELLS * SHORT_RESTARTS
    piece = quick[0] / pieces
    cell = piece * per_cell
    # Ranks take equal shares; rank 0 keeps its own.
    handed = [(short[r] - short[1]) / (restarts / TOGETHER * (r - 1) / r) for r in RANKS if r > 1]
    rate, hours = 1 / max(handed), cell * MILLION / 3600
    print(f"| ranks | quick.cfg, {TIMES * QUICK_RESTARTS} restarts: {pieces} pieces of {piece * 1e3:.1f} ms | efficiency "
          f"| wall clock, {cores} cores | efficiency | {restarts} restarts of {short[0] / restarts * 1e6:.0f} µs |\n"
          "|---|---|---|---|---|---|")
    for r in RANKS:
        print(f"| {r or 'no MPI'} | {quick[r]:.2f} s | {quick[0] / quick[r]:.2f} | {wall[r]:.2f} s "
              f"| {wall[0] / wall[r] / min(max(r, 1), cores):.2f} | {short[r]:.2f} s |")
    print(f"""
* wall-clock over processor time of one process: {wall[0] / quick[0]:.2f}; well above 1 where the machine has other work
* start of `mpirun` and MPI: {empty[1] - empty[0]:.1f} s with one rank, {(empty[4] - empty[1]) / 3:.1f} s for each one more
* a piece handed to another rank, both ends and waiting together: {min(handed) * 1e6:.0f} to {max(handed) * 1e6:.0f} µs
* 10^6 cells of quick.cfg, {cell:.2f} s each: {hours:.0f} hours of one core, {hours / 64:.1f} of 64 cores
* their messages: {MILLION * per_cell:.1e}; their records: {record / 1000:.1f} kB each, {record * MILLION / 1e9:.1f} GB
* at {max(handed) * 1e6:.0f} µs a message rank 0 answers {rate:.0f} a second, which is {rate * piece:.0f} workers with pieces as long""")


if __name__ == "__main__":
    main()
