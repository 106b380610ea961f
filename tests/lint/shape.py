"""Checks sizes: lines up to 100 columns, functions up to 60 lines, files up to 300 lines."""
import pathlib
import sys

LINE, FUNCTION, FILE = 100, 60, 300


def check(path, problems):
    lines = path.read_text().splitlines()
    if len(lines) > FILE:
        problems.append(f"{path}: {len(lines)} lines, expected at most {FILE}")
    start = None
    for number, text in enumerate(lines, 1):
        if len(text) > LINE:
            problems.append(f"{path}:{number}: {len(text)} columns, expected at most {LINE}")
        if "TO" + "DO" in text or "FIX" + "ME" in text:
            problems.append(f"{path}:{number}: unfinished work is marked here")
        if text == "{":  # clang-format puts a function's brace alone in the first column
            start = number
        elif text == "}" and start:
            if number - start - 1 > FUNCTION:
                problems.append(f"{path}:{start}: function of {number - start - 1} lines, "
                                f"expected at most {FUNCTION}")
            start = None


def main():
    problems = []
    for pattern in ("src/*/*.[ch]", "src/*/*.cpp", "include/tightlip/*.h", "tests/*.c",
                    "tests/*/*.[ch]"):
        for path in sorted(pathlib.Path(".").glob(pattern)):
            check(path, problems)
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


sys.exit(main())
