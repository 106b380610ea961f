"""What every part of the benchmark uses: drivers, spreads, processor and library names."""
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

try:
    import torch_side
except ImportError as missing:
    torch_side, WHY_NOT = None, f"torch rows skipped: {missing} (Debian: python3-torch)"


def lines(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"bench: {command[0]} failed")
    return [json.loads(line) for line in done.stdout.splitlines()]


def spread(times):
    return {"median": statistics.median(times), "least": min(times), "most": max(times)}


def shown(times, unit=1e6):
    median, least, most = (times[key] * unit for key in ("median", "least", "most"))
    return f"{median:10.4g} [{least:.4g}, {most:.4g}]"


def processor():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def plain(name):
    """The name of a processor without marks."""
    return re.sub(r"\((r|tm)\)", "", name, flags=re.IGNORECASE)


def place(output, name=None):
    """The directory of OUTPUT that holds the figures of a processor, this one by default."""
    path = pathlib.Path(output) / "-".join(re.findall("[a-z0-9]+", plain(name or processor()).lower()))
    path.mkdir(parents=True, exist_ok=True)
    return path


def other_blas():
    """The library that torch's linear algebra ends in."""
    mapped = {line.split()[-1] for line in open("/proc/self/maps") if "/" in line}
    return ", ".join(sorted(os.path.realpath(p) for p in mapped
                            if "lapack" in p or "blas" in p)) or "its own"


def exponent(sizes, times):
    """Slope of log time against log size over the larger half, where constants count least."""
    import math
    half = len(sizes) // 2
    xs, ys = [math.log(s) for s in sizes[half:]], [math.log(t) for t in times[half:]]
    mx, my = statistics.mean(xs), statistics.mean(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def instructions(directory, m, d, beside=False):
    """Instructions of one evaluation, alone or of eight side by side, by callgrind (no wide vectors
    beyond AVX2 there); None without valgrind."""
    if not shutil.which("valgrind"):
        return None
    count = 16 if beside else 6
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
         "--toggle-collect=tl_evaluate" + "_all" * beside, str(directory / "evaluate"), str(m),
         str(d), str(count), "1"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, env=dict(os.environ, OPENBLAS_CORETYPE="HASWELL"))
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        sys.exit("bench: callgrind failed")
    # alone: a climb of count points, then all again
    return int(found.group(1)) / (count if beside else 2 * count - 1)
