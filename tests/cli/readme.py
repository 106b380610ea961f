#!/usr/bin/env python3
"""readme.py PROGRAM: runs every command of README.md.

Commands of ```sh blocks, with what they read up to END, run from a copy of the repository's experiments with
build/tightlip as PROGRAM; `make` lines are checked for having their targets (the tests run under make themselves), and
mpirun starts the program with MPI that `make mpi-check` leaves beside PROGRAM, where there is one. The experiment block
must load and finish. Ends with `N passed, N failed`."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MADE = ("build/split/plot.png", "build/report.html", "build/witness.json", "build/mine/plot.svg",
        "build/joined/cells.ndjson", "build/example/plot.svg")


def commands_of(text):
    """Lines of shell blocks, a here-document with the line that reads it."""
    for block in re.findall(r"```sh\n(.*?)```", text, re.S):
        lines = iter(block.splitlines())
        for line in lines:
            if "<<'END'" in line:
                line += "\n" + "\n".join(iter(lines.__next__, "END")) + "\nEND\n"
            if line.strip():
                yield line


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    text = (root / "README.md").read_text(encoding="utf-8")
    commands = list(commands_of(text))
    mpi = program.parent / "mpi/tightlip"
    example = re.search(r"```\n(name .*?)```", text, re.S).group(1)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        (work / "build").mkdir()
        os.symlink(program, work / "build/tightlip")
        shutil.copytree(root / "experiments", work / "experiments")
        (work / "example.cfg").write_text(
            example.replace("points = 25", "points = 3").replace("evaluations = 4000", "evaluations = 100"),
            encoding="utf-8")
        commands.append("build/tightlip run example.cfg -o build/example")
        for command in commands:
            cwd = work
            if command.startswith("make"):
                command, cwd = command.replace("make ", "make -n ", 1), root
            elif command.startswith("mpirun"):
                if not (shutil.which("mpirun") and mpi.exists()):
                    print(f"no MPI here, not run: {command}")
                    continue
                command = command.replace("mpirun", "mpirun --allow-run-as-root --oversubscribe", 1)
                command = command.replace("build/tightlip", str(mpi))
            done = subprocess.run(["sh", "-c", command], cwd=cwd, capture_output=True, text=True,
                                  timeout=600, check=False, stdin=subprocess.DEVNULL)
            good = done.returncode == 0
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"README: {command}: exit {done.returncode}\n{done.stderr}")
        for name in MADE:
            good = (work / name).is_file() and (work / name).stat().st_size > 0
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"README: {name} was not made")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
