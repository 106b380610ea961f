#!/usr/bin/env python3
"""terminal.py PROGRAM: what the program draws on a terminal, and what a second interrupt does. Last line:
`N passed, N failed`."""
import os
import pathlib
import pty
import signal
import subprocess
import sys
import tempfile
import time

TIME_LIMIT = 120  # seconds each


def on_terminal(words, cwd):
    """Exit code, stdout (a pipe) and what a terminal on stderr was sent."""
    outer, inner = pty.openpty()
    process = subprocess.Popen(words, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=inner)
    os.close(inner)
    drawn = b""
    while True:
        try:
            piece = os.read(outer, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        drawn += piece
    os.close(outer)
    stdout = process.communicate(timeout=TIME_LIMIT)[0]
    return process.returncode, stdout.decode(), drawn.decode()


def bar_of_a_run(program, data, tmp):
    """Drawn over itself, full at the end, and closed before the table follows on a line of its own."""
    code, stdout, drawn = on_terminal([program, "run", data / "small.cfg", "-o", tmp / "bar", "--no-plot"], tmp)
    frames = [piece for piece in drawn.split("\r") if piece.startswith("[")]
    wrong = [] if code == 0 else [f"exit code {code}: {drawn[-300:]!r}"]
    if not frames or not frames[-1].startswith("[" + "#" * 32 + "] 100.0 %  2 of 2 cells"):
        wrong.append(f"expected a full bar at the end, found {frames[-1:]!r}")
    if any(len(frame.split("\033")[0]) > 80 for frame in frames):
        wrong.append("a bar is wider than 80 columns")
    if "\r" in stdout or "[#" in stdout:
        wrong.append(f"the bar is on stdout: {stdout[:200]!r}")
    return wrong


def boxes_of_exact(program, _, tmp):
    code, stdout, drawn = on_terminal(
        [program, "exact", "--attention", "l2", "--whole-space", "--n", "4", "--tolerance", "1e-3"], tmp)
    wrong = [] if code == 0 and "supremum" in stdout else [f"exit code {code}: {stdout!r}"]
    if "\r[" not in drawn or "relative width" not in drawn:
        wrong.append(f"expected the interval as it shrinks, found {drawn[-300:]!r}")
    return wrong


def second_interrupt(program, data, tmp):
    """The first lets the cell in hand end, the second ends the program at once."""
    process = subprocess.Popen([program, "run", data / "endless.cfg", "-o", "twice"], cwd=tmp,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while process.poll() is None and not (tmp / "twice/cells.ndjson.partial").exists():
        time.sleep(0.005)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=TIME_LIMIT)
    # A machine that is busy may let a second pass between the two.
    return [] if process.returncode in (-signal.SIGINT, 1) else [f"exit code {process.returncode}"]


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    data = pathlib.Path(__file__).resolve().parent / "data"
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        for test in (bar_of_a_run, boxes_of_exact, second_interrupt):
            wrong = test(program, data, pathlib.Path(name))
            passed, failed = passed + (not wrong), failed + bool(wrong)
            for text in wrong:
                print(f"FAILED {test.__name__}\n    {text}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
