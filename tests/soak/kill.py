#!/usr/bin/env python3
"""kill.py PROGRAM [RUNS]: runs that are killed at random times, interrupted, out of disk, without rights or
without a directory. After each, every file under a final name is whole, nothing half-written is taken
for whole, and --resume ends in the bytes of an undisturbed run. Last line: `N passed, N failed`."""
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CONFIG = """
name = "soak"; attention = { kind = "dot"; d = 2; A = "worst"; V = "identity"; };
domain = { kind = "ball"; radius = 1.5; };
sweep = { variable = "n"; values = (2, 3, 4, 5, 7, 9, 16, 64, 1000, "inf"); };
search = { atoms = 3; restarts = 8; evaluations = 400; seed = 3; };
"""
FINAL = ("manifest.json", "cells.ndjson", "data.csv", "plot.gp", "plot.svg", "plot.png")
counts = collections.Counter()
wrong = []


def run(program, config, directory, *more, **options):
    return subprocess.Popen([program, "run", str(config), "-o", str(directory), "--threads", "2", *more],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)


def same(directory, whole):
    return all((directory / name).read_bytes() == (whole / name).read_bytes() for name in FINAL)


def whole_files(directory, whole, what):
    """A file under a final name holds exactly what it should, whenever the run ended."""
    for name in FINAL:
        path = directory / name
        if path.exists() and path.read_bytes() != (whole / name).read_bytes():
            wrong.append(f"{what}: {name} is not whole")
    partial = directory / "cells.ndjson.partial"
    if partial.exists():
        lines = partial.read_bytes().split(b"\n")
        for line in lines[:-1]:
            json.loads(line)


def resume(program, config, directory, whole, what):
    process = run(program, config, directory, "--resume")
    _, talk = process.communicate(timeout=120)
    if process.returncode != 0 or not same(directory, whole):
        wrong.append(f"{what}: resume ended with {process.returncode}: {talk[-200:]}")
    counts[what] += 1


def killed(program, config, tmp, whole, seconds, runs):
    for i in range(runs):
        directory = tmp / f"killed{i}"
        for _ in range(random.randint(1, 3)):
            process = run(program, config, directory, "--resume")
            time.sleep(random.random() * seconds)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            if directory.exists():
                whole_files(directory, whole, "killed")
        resume(program, config, directory, whole, "killed")
        shutil.rmtree(directory)


def interrupted(program, config, tmp, whole, seconds, runs):
    for i in range(runs):
        number = (signal.SIGINT, signal.SIGTERM)[i % 2]
        directory = tmp / f"interrupted{i}"
        process = run(program, config, directory)
        time.sleep(random.random() * seconds)
        began = time.monotonic()
        process.send_signal(number)
        _, talk = process.communicate(timeout=60)
        # A second for what is in hand; more only where the machine is busy.
        if time.monotonic() - began > 3:
            wrong.append(f"{number.name}: ended only after {time.monotonic() - began:.1f} s")
        if process.returncode not in (0, 1, -number):
            wrong.append(f"{number.name}: exit code {process.returncode}: {talk[-200:]}")
        if directory.exists():
            whole_files(directory, whole, number.name)
        resume(program, config, directory, whole, number.name)
        shutil.rmtree(directory)


def full_disk(program, config, tmp, whole):
    place = tmp / "disk"
    place.mkdir()
    for size in ("8k", "24k", "64k", "128k"):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)],
                          stderr=subprocess.DEVNULL, check=False).returncode:
            print("full disk: cannot mount a tmpfs here, left out")
            return
        try:
            process = run(program, config, place / "out")
            _, talk = process.communicate(timeout=120)
            if process.returncode == 0 and not same(place / "out", whole):
                wrong.append(f"full disk {size}: exit code 0 without the results")
            if process.returncode != 0 and "space" not in talk.lower():
                wrong.append(f"full disk {size}: says {talk[-200:]!r}")
            if (place / "out").exists():
                whole_files(place / "out", whole, f"full disk {size}")
            moved = tmp / f"moved{size}"
            if (place / "out").exists():
                shutil.copytree(place / "out", moved)
        finally:
            subprocess.run(["umount", str(place)], check=True)
        if moved.exists():
            resume(program, config, moved, whole, "full disk")


def read_only(program, config, tmp, whole):
    """A directory that is read-only: without results, and with results that stay as they are."""
    place = tmp / "fixed"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(place)], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        print("read-only: cannot mount a tmpfs here, left out")
        return
    try:
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        _, talk = (process := run(program, config, place / "out")).communicate(timeout=60)
        if process.returncode != 1 or "Read-only" not in talk:
            wrong.append(f"read-only: exit code {process.returncode}: {talk[-200:]}")
        subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)
        _, talk = (process := run(program, config, place / "out", "--resume")).communicate(timeout=120)
        if process.returncode != 0 or not same(place / "out", whole):
            wrong.append(f"writable again: exit code {process.returncode}: {talk[-200:]}")
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        _, talk = (process := run(program, config, place / "out")).communicate(timeout=60)
        if process.returncode != 1 or not same(place / "out", whole):
            wrong.append(f"read-only results: exit code {process.returncode}: {talk[-200:]}")
        counts["read-only"] += 3
    finally:
        subprocess.run(["umount", str(place)], check=True)


def no_place(program, config, tmp, whole):
    process = run(program, config, pathlib.Path("/proc/tightlip"))
    _, talk = process.communicate(timeout=60)
    counts["no rights"] += 1
    if process.returncode != 1 or "/proc/tightlip" not in talk:
        wrong.append(f"no rights: exit code {process.returncode}: {talk[-200:]}")
    for i in range(3):
        directory = tmp / f"vanishing{i}"
        process = run(program, config, directory)
        while not directory.exists() and process.poll() is None:
            time.sleep(0.001)
        shutil.rmtree(directory, ignore_errors=True)
        _, talk = process.communicate(timeout=120)
        counts["vanishing"] += 1
        if process.returncode == 0 and not (directory.exists() and same(directory, whole)):
            wrong.append("vanishing directory: exit code 0 without the results")
        if process.returncode < 0:
            wrong.append(f"vanishing directory: died of signal {-process.returncode}")


def main():
    program = os.path.abspath(sys.argv[1])
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    random.seed(1)
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        config = tmp / "soak.cfg"
        config.write_text(CONFIG, encoding="utf-8")
        whole = tmp / "whole"
        began = time.monotonic()
        process = run(program, config, whole)
        process.communicate()
        if process.returncode:
            sys.exit("the undisturbed run failed")
        seconds = 1.1 * (time.monotonic() - began)
        killed(program, config, tmp, whole, seconds, runs)
        interrupted(program, config, tmp, whole, seconds, max(runs // 5, 2))
        full_disk(program, config, tmp, whole)
        read_only(program, config, tmp, whole)
        no_place(program, config, tmp, whole)
    for what, count in counts.items():
        print(f"{what}: {count} runs")
    for text in wrong[:20]:
        print("FAILED", text)
    print(f"{sum(counts.values()) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


sys.exit(main())
