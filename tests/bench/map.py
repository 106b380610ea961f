#!/usr/bin/python3
"""How long the tightness map takes, worst A and certificates included:

    map.py PROGRAM DIRECTORY OUTPUT    runs it into DIRECTORY; writes map.json into OUTPUT, into the
                                       place of this processor"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from sides import place  # noqa: E402

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "experiments/tightness_map.cfg"


def main():
    program, directory, output = sys.argv[1], pathlib.Path(sys.argv[2]) / "map", place(sys.argv[3])
    shutil.rmtree(directory, ignore_errors=True)
    begun, before = time.monotonic(), os.times()
    subprocess.run([program, "run", CONFIG, "-o", directory], check=True,
                   stdout=subprocess.DEVNULL)
    after = os.times()
    cells = sum(1 for _ in open(directory / "cells.ndjson"))
    row = {"cells": cells, "processors": os.cpu_count(), "seconds": time.monotonic() - begun,
           "processor_seconds": after.children_user - before.children_user
           + after.children_system - before.children_system}
    (output / "map.json").write_text(json.dumps(row, indent=1) + "\n")
    print(f"\ntightness map, {cells} cells: {row['seconds']:.4g} s by the clock, "
          f"{row['processor_seconds']:.4g} of processor time on {row['processors']} processors")


if __name__ == "__main__":
    main()
