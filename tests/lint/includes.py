"""Checks the include graph: modules point one way, bounds and search never see each other, and each
.c file includes its own header, then the system and other libraries, then tightlip's."""
import pathlib
import re
import sys

LEVEL = {"base": 0, "linalg": 1, "attention": 2, "bounds": 3, "search": 3, "attack": 3, "certify": 3,
         "model": 3, "robust": 3, "experiment": 4, "cli": 5}
# The module behind each public header.
HEADER = {"status": "base", "names": "base", "rng": "base", "text": "base", "file": "base", "version": "base",
          "linalg": "linalg", "attention": "attention", "domain": "attention",
          "invert": "attention", "jacobian": "attention", "norm": "attention", "problem": "attention",
          "bounds": "bounds", "lofast": "bounds",
          "search": "search", "star": "search", "attack": "attack", "transport": "attack",
          "slopes": "attack", "measure_attack": "attack", "certify": "certify", "exact": "certify",
          "model": "model", "random": "model", "weights": "model", "tokenizer": "model",
          "images": "model", "transformer": "model", "words": "model", "livit": "robust", "conjecture": "bounds",
          "experiment": "experiment"}
# Layers of one level that build on another of it. robust joins a network of model with a bound of
# bounds and is seen by cli alone, so the graph stays acyclic.
ALLOWED = {("attack", "search"), ("certify", "bounds"), ("model", "base"),
           ("robust", "model"), ("robust", "bounds")}
# Internal headers that modules above may include: vector types, what takes them, and loops to be inlined.
INLINED = {"attention/batch.h", "linalg/lanes.h", "linalg/lanes_rows.h", "linalg/top_batch.h",
           "linalg/top_lanes_batch.h", "linalg/wide.h", "linalg/wide_exp.h"}
INCLUDE = re.compile(r'^#include ([<"])([^>"]+)[>"]')


def module_of(name):
    if name.startswith("tightlip/"):
        return HEADER.get(name[len("tightlip/"):].removesuffix(".h"), "?")
    return name.split("/")[0] if "/" in name else None


def check_graph(path, module, includes, problems):
    for line, kind, name in includes:
        if kind == "<":
            continue
        target = module_of(name)
        if target == "?":
            problems.append(f"{path}:{line}: {name}: unknown public header; add it to includes.py")
        if target in (None, "?", module) or target not in LEVEL:
            continue
        up = LEVEL[target] > LEVEL[module]
        across = LEVEL[target] == LEVEL[module] and (module, target) not in ALLOWED
        if up or across:
            problems.append(f"{path}:{line}: {module} must not include {name} ({target})")
        if not name.startswith("tightlip/") and target != module and name not in INLINED:
            problems.append(f"{path}:{line}: {name} is internal to {target}")


def check_order(path, includes, problems):
    """Quoted headers may open the file (its own) or close the list, never stand in between; inside a
    block clang-format sorts."""
    blocks = [kind for i, (_, kind, _) in enumerate(includes) if i == 0 or includes[i - 1][1] != kind]
    if "".join(blocks) not in ("", "<", '"', '"<', '<"', '"<"'):
        line = includes[-1][0]
        problems.append(f"{path}:{line}: expected includes in the order own header, <libraries>, "
                        "\"tightlip/..\"")


def main():
    problems = []
    for path in sorted(pathlib.Path(".").glob("src/*/*.[ch]")) + sorted(
            pathlib.Path(".").glob("include/tightlip/*.h")):
        includes = []
        for number, text in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(text)
            if match:
                includes.append((number, match[1], match[2]))
        module = path.parent.name if path.parts[0] == "src" else HEADER.get(path.stem)
        if module is None or module not in LEVEL:
            problems.append(f"{path}: unknown module; add it to tests/lint/includes.py")
            continue
        check_graph(path, module, includes, problems)
        if path.suffix == ".c":
            check_order(path, includes, problems)
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


sys.exit(main())
