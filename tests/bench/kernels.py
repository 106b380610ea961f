"""Python's OpenBLAS gets the kernels that the drivers pick: imported before what loads it."""
import json
import os
import pathlib
import re
import subprocess
import sys

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["BLIS_NUM_THREADS"] = "1"
for word in sys.argv[1:]:
    driver = pathlib.Path(word) / "evaluate"
    if driver.is_file():
        lines = subprocess.run([str(driver), "2", "1", "1", "1"], stdout=subprocess.PIPE, text=True).stdout
        core = re.search(r" DYNAMIC_ARCH .*(Haswell|SkylakeX) ", json.loads(lines.splitlines()[-1])["blas"])
        if core:
            os.environ.setdefault("OPENBLAS_CORETYPE", core[1].upper())
        break
