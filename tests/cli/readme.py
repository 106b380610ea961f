#!/usr/bin/env python3
"""readme.py PROGRAM: runs every command of README.md.

Lines of ```sh blocks run from a copy of the repository's experiments with build/tightlip as PROGRAM; `make` lines are
checked for having their targets (the tests run under make themselves). The experiment block must load and
finish. Ends with `N passed, N failed`."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    text = (root / "README.md").read_text(encoding="utf-8")
    commands = [line for block in re.findall(r"```sh\n(.*?)```", text, re.S)
                for line in block.splitlines() if line.strip()]
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
            words = shlex.split(command, comments=True)
            cwd = work
            if words[0] == "make":
                words, cwd = ["make", "-n", *words[1:]], root
            done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=600,
                                  check=False, stdin=subprocess.DEVNULL)
            good = done.returncode == 0
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"README: {command}: exit {done.returncode}\n{done.stderr}")
        for name in ("build/split/plot.png", "build/witness.json", "build/example/plot.svg"):
            good = (work / name).is_file() and (work / name).stat().st_size > 0
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"README: {name} was not made")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
