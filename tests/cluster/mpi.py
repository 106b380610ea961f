#!/usr/bin/env python3
"""mpi.py PROGRAM [KILLS]: runs shared by the ranks of mpirun. The same bytes as one process for any number of ranks, with
and without warm starts; a rank that is killed, a launcher that is interrupted, ranks that do not agree: the message
says so, no finished record is lost, and --resume ends in the same bytes. KILLS more ranks are killed at random times;
how many of them were hit before and after the first record is printed. Last line: `N passed, N failed`."""
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

SEARCH = """
name = "ranks"; attention = { kind = "dot"; d = 2; A = "worst"; V = "identity"; };
domain = { kind = "ball"; radius = 1.5; };
sweep = { variable = "n"; values = (2, 3, 4, 5, 7, 9, 16, 64, 1000, "inf"); };
search = { atoms = 3; restarts = %d; evaluations = %d; seed = 3; };
"""
WARM = """
name = "warm"; attention = { kind = "dot"; d = 2; A = "worst"; V = "identity"; }; domain = { kind = "ball"; };
sweep = ( { variable = "g"; values = (0.5, 2.0, 3.0); }, { variable = "n"; values = (2, 4, 12, "inf"); } );
search = { atoms = 3; restarts = 3; evaluations = 100; warm = "neighbours"; };
"""
TOKENS = """
name = "given"; attention = { d = 2; A = "identity"; V = "rotation"; };
tokens = { values = ([1.0, 0.0], [0.0, 1.0], [-0.5, 0.25]); };
sweep = { variable = "mask"; values = ("none", "causal", "self-masked"); };
"""
FINAL = ("manifest.json", "cells.ndjson", "data.csv", "plot.gp", "plot.svg", "plot.png")
LAUNCHER = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
QUIET = {**os.environ, "OMP_NUM_THREADS": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
passed = failed = 0


def expect(good, what):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED", what)


def launch(ranks, *command):
    return subprocess.Popen([*LAUNCHER, "-n", str(ranks), *map(str, command)], env=QUIET, text=True,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(process, seconds=120):
    _, talk = process.communicate(timeout=seconds)
    return process.returncode, talk


def has_ranks(launcher):
    """Whether one of its processes still runs."""
    try:
        children = pathlib.Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
        return any(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z" for pid in children)
    except OSError:
        return True  # they change


def finish_or_end(process, seconds=120):
    """Exit code and talk; no code where the launcher did not end by itself. OpenMPI 4.1's can lock up in its own end
    (PMIx_server_finalize waits for a lock that nobody holds any more) once a rank was killed; with every rank gone for
    ten seconds it is ended."""
    began = alone = time.monotonic()
    while time.monotonic() - began < seconds:
        try:
            return finish(process, 0.5)
        except subprocess.TimeoutExpired:
            alone = time.monotonic() if has_ranks(process) else alone
        if time.monotonic() - alone > 10:
            break
    expect(not has_ranks(process), f"ranks live on {seconds} s after one was killed")
    process.kill()
    return None, process.communicate()[1]


def same(directory, whole):
    return all((directory / name).exists() and (directory / name).read_bytes() == (whole / name).read_bytes()
               for name in FINAL)


def process_of(launcher, rank):
    """The process of that rank: what the launcher started with it in its environment."""
    try:
        children = pathlib.Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
    except OSError:
        return None
    for pid in children:
        try:
            words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"OMPI_COMM_WORLD_RANK=%d" % rank in words:
            return int(pid)
    return None


def wait_for_records(process, directory, count):
    """True once that many records stand in the file, while the run goes on."""
    path = directory / "cells.ndjson.partial"
    while process.poll() is None:
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return True
        time.sleep(0.01)
    return False


def kept(directory):
    """The records that stand there whole, without the checksums of unfinished ones."""
    for name in ("cells.ndjson.partial", "cells.ndjson"):
        if (directory / name).exists():
            records = [json.loads(line) for line in (directory / name).read_bytes().split(b"\n")[:-1]]
            return [{key: value for key, value in record.items() if key != "fnv1a"} for record in records]
    return []


def same_bytes(program, tmp):
    for name, text in (("search", SEARCH % (8, 100)), ("warm", WARM), ("tokens", TOKENS)):
        config, whole = tmp / f"{name}.cfg", tmp / f"{name}-whole"
        config.write_text(text, encoding="utf-8")
        subprocess.run([program, "run", config, "-o", whole], check=True, capture_output=True)
        for ranks in (1, 2, 4):
            out = tmp / f"{name}-{ranks}"
            code, talk = finish(launch(ranks, program, "run", config, "-o", out))
            expect(code == 0 and same(out, whole), f"{name}, {ranks} ranks: exit code {code}: {talk[-300:]}")


def ended_early(program, tmp, config, whole):
    """Somebody is sent a signal once two records are there."""
    for what, rank, number in (("rank 1 killed", 1, signal.SIGKILL), ("rank 0 killed", 0, signal.SIGKILL),
                               ("rank 2 asked to end", 2, signal.SIGTERM), ("launcher", None, signal.SIGTERM),
                               ("launcher", None, signal.SIGINT)):
        out = tmp / "early"
        for _ in range(3):  # again where the run was done before the signal arrived, or the launcher locked up
            shutil.rmtree(out, ignore_errors=True)
            process = launch(3, program, "run", config, "-o", out)
            there = wait_for_records(process, out, 2)
            before = kept(out) if there else []
            pid = process.pid if rank is None else process_of(process, rank)
            if there and pid:
                os.kill(pid, number)
            began = time.monotonic()
            code, talk = finish_or_end(process)
            if code and not (out / "cells.ndjson").exists():
                break
        what = f"{what} by {number.name}"
        expect(there and code, f"{what}: exit code {code}")
        expect(time.monotonic() - began < 30, f"{what}: took {time.monotonic() - began:.1f} s")
        expect("the finished cells are kept" in talk or rank == 0, f"{what}: says {talk[-600:]!r}")
        after = kept(out)
        expect(after[:len(before)] == before, f"{what}: records lost")
        code, talk = finish(launch(2, program, "run", config, "-o", out, "--resume"))
        expect(code == 0 and same(out, whole), f"{what}: resume: exit code {code}: {talk[-300:]}")
        shutil.rmtree(out)


def killed_at_random(program, tmp, config, whole, kills):
    out = tmp / "random"
    hit = early = stuck = 0
    for i in range(kills):
        process, rank = launch(3, program, "run", config, "-o", out, "--no-plot", "--resume"), random.randrange(3)
        time.sleep(random.random() * 3)
        pid = process_of(process, rank) if process.poll() is None else None
        if pid:
            os.kill(pid, signal.SIGKILL)
            hit, early = hit + 1, early + (not kept(out))
        stuck += finish_or_end(process)[0] is None
        expect(all(kept(out)), f"kill {i}, rank {rank}: a torn record")
        if i % 3 == 2 or i == kills - 1:
            code, talk = finish(launch(2, program, "run", config, "-o", out, "--resume"))
            expect(code == 0 and same(out, whole), f"kill {i}: resume: exit code {code}: {talk[-300:]}")
            shutil.rmtree(out)
    if kills:
        print(f"{hit} ranks killed, {early} of them before the first record, {kills - hit} runs had ended or not begun; "
              f"{stuck} launchers did not end by themselves")


def disagreement(program, tmp, config):
    out = tmp / "disagree"
    code, talk = finish(launch(1, program, "run", config, "-o", out, ":", "-n", "1", program, "run", config,
                               "--seed", "9", "-o", out))
    expect(code == 2 and "rank 1: expected the configuration, data, seed and build of rank 0" in talk,
           f"another seed: exit code {code}: {talk[-300:]}")
    code, talk = finish(launch(1, program, "run", config, "-o", out, ":", "-n", "1", program, "run",
                               tmp / "absent.cfg", "-o", out))
    expect(code != 0 and "rank 1 cannot begin" in talk and "absent.cfg" in talk, f"no file: {code}: {talk[-300:]}")
    code, talk = finish(launch(2, program, "run", tmp / "absent.cfg", "-o", out))
    expect(code != 0 and "absent.cfg" in talk, f"no file anywhere: {code}: {talk[-300:]}")
    code, talk = finish(launch(2, program, "run", config, "-o", "/proc/tightlip"))
    expect(code == 1 and "/proc/tightlip" in talk, f"no directory: {code}: {talk[-300:]}")


def main():
    program = os.path.abspath(sys.argv[1])
    random.seed(1)
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        same_bytes(program, tmp)
        config, whole = tmp / "longer.cfg", tmp / "longer-whole"
        config.write_text(SEARCH % (80, 8000), encoding="utf-8")
        subprocess.run([program, "run", config, "-o", whole], check=True, capture_output=True)
        ended_early(program, tmp, config, whole)
        disagreement(program, tmp, config)
        killed_at_random(program, tmp, config, whole, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
