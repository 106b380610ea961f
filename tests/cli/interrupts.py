#!/usr/bin/env python3
"""interrupts.py PROGRAM: what SIGINT and SIGTERM leave of a search, an enclosure and tables that take long. Last line: `N passed, N failed`."""
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

TIME_LIMIT = 120  # seconds each
LONG_SEARCH = ["search", "--n", "100", "--radius", "4", "--restarts", "1000000"]
DATA = pathlib.Path(__file__).resolve().parent / "data"
LONG_ATTACK = ["attack", "--epsilon", "0.1,1,2", "--restarts", "1000000", "--steps", "1000000"]
LONG_EXACT = ["exact", "--n", "4", "--radius", "3"]


def interrupted(words, cwd, number, seconds=1.0, meanwhile=None):
    """Exit code, stdout and stderr of a program that gets a signal after so many seconds, and how long it then took."""
    process = subprocess.Popen(words, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    time.sleep(seconds)
    if meanwhile:
        meanwhile()
    began = time.monotonic()
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=TIME_LIMIT)
    wrong = [] if process.returncode == 1 else [f"exit code: expected 1, found {process.returncode}; {stderr[:600]!r}"]
    if time.monotonic() - began > 5:
        wrong.append(f"took {time.monotonic() - began:.1f} s to end")
    return wrong, stdout, stderr


def missing(fragment, stream):
    return [] if fragment in stream else [f"expected {fragment!r}, found {stream[:600]!r}"]


def search_keeps_the_best(program, tmp):
    wrong = []
    for number in (signal.SIGINT, signal.SIGTERM):
        name = f"witness{int(number)}.json"
        found, stdout, stderr = interrupted([program, *LONG_SEARCH, "-o", name], tmp, number)
        wrong += found + missing("found      113.6", stdout) + missing("interrupted: the value is the best", stderr)
        if not (tmp / name).exists():
            return wrong + [f"{name}: not there"]
        done = subprocess.run([program, "verify", name], cwd=tmp, capture_output=True, text=True, timeout=TIME_LIMIT)
        wrong += missing("confirmed", done.stdout)
    return wrong


def search_as_json(program, tmp):
    wrong, stdout, _ = interrupted([program, *LONG_SEARCH, "--json"], tmp, signal.SIGTERM)
    return wrong or ([] if json.loads(stdout)["value"] > 113 else [f"value: {stdout[:200]!r}"])


def exact_prints_what_is_proven(program, tmp):
    wrong, stdout, stderr = interrupted([program, *LONG_EXACT], tmp, signal.SIGINT)
    return (wrong + missing("supremum   [6.4562241017925", stdout) + missing("NOT within the tolerance", stdout)
            + missing("interrupted: the interval is proven", stderr))


def exact_goes_on(program, tmp):
    wrong, _, stderr = interrupted([program, *LONG_EXACT, "--state", "state"], tmp, signal.SIGTERM)
    wrong += missing("goes on from the state", stderr)
    looked_at = int((tmp / "state").read_text().splitlines()[1].split()[1])
    more = [program, *LONG_EXACT, "--state", "state", "--boxes", str(looked_at + 1000), "--json"]
    straight = [program, *LONG_EXACT, "--boxes", str(looked_at + 1000), "--json"]
    first, second = (subprocess.run(words, cwd=tmp, capture_output=True, text=True, timeout=TIME_LIMIT)
                     for words in (more, straight))
    return wrong + ([] if first.stdout == second.stdout else ["other bytes after an interruption"])


def exact_without_its_directory(program, tmp):
    """The directory of the state goes away: the interval is printed all the same."""
    (tmp / "gone").mkdir()
    wrong, stdout, stderr = interrupted([program, *LONG_EXACT, "--state", "gone/state"], tmp, signal.SIGTERM,
                                        meanwhile=(tmp / "gone").rmdir)
    return wrong + missing("supremum   [6.4562241017925", stdout) + missing("gone/state: cannot be created", stderr)


def attack_gives_its_rows(program, tmp):
    """Of a sequence and of a measure: the budget in hand with the best so far, no later one."""
    wrong = []
    for name, verified in (("good", "norm 2 from"), ("mean-field", "norm 2 ")):
        words = [program, *LONG_ATTACK, str(DATA / f"{name}.json")]
        found, stdout, stderr = interrupted([*words, "-o", "moved.json"], tmp, signal.SIGINT)
        rows = stdout[stdout.index("\nepsilon"):].splitlines()[2:]
        wrong += found + missing("interrupted: at epsilon 0.1 it is the best found so far; nothing yet from epsilon 1 on",
                                 stderr)
        wrong += [] if len(rows) == 1 and rows[0].startswith("0.1 ") else [f"{name}: rows {rows}"]
        done = subprocess.run([program, "verify", "moved.json"], cwd=tmp, capture_output=True, text=True,
                              timeout=TIME_LIMIT)
        wrong += missing(verified, done.stdout)
        found, stdout, _ = interrupted([*words, "--json"], tmp, signal.SIGTERM)
        rows = json.loads(stdout)["attacks"]
        wrong += found + ([] if [row["interrupted"] for row in rows] == [True] else [f"{name}: {rows}"])
    return wrong


def certify_gives_the_images_before(program, tmp):
    """The bytes of a run of no more images; nothing where the first is not done."""
    root = DATA.parent.parent.parent / "experiments"
    pictures = root / "data/fashion_mnist"
    words = [program, "certify", str(root / "livit/model.safetensors"), "--images", str(pictures / "images.idx"),
             "--labels", str(pictures / "labels.idx"), "--pgd", "--each"]
    wrong, stdout, stderr = interrupted([*words, "--steps", "400"], tmp, signal.SIGINT, seconds=3)
    said = re.search(r"interrupted: the first (\d+) of 1000 images", stderr)
    if wrong or not said:
        return wrong + missing("interrupted: the first", stderr)
    whole = subprocess.run([*words, "--steps", "400", "--count", said[1]], cwd=tmp, capture_output=True, text=True,
                           timeout=TIME_LIMIT)
    wrong += [] if whole.stdout == stdout else [f"expected {whole.stdout[:600]!r}, found {stdout[:600]!r}"]
    found, stdout, stderr = interrupted([*words, "--restarts", "100000", "--steps", "100000", "--json"], tmp,
                                        signal.SIGTERM)
    return wrong + found + missing("interrupted before the first of 1000 images", stderr) + (
        [f"stdout: {stdout[:200]!r}"] if stdout else [])


def layers_replaces_nothing(words, endless, tmp):
    """Where results stand the rows go beside them, until a whole call replaces both."""
    subprocess.run([*words, "--layers", "1", "-o", "kept"], cwd=tmp, capture_output=True, timeout=TIME_LIMIT)
    before = {path.name: path.read_bytes() for path in (tmp / "kept").iterdir()}
    wrong, stdout, stderr = interrupted([*endless, "-o", "kept"], tmp, signal.SIGINT)
    wrong += missing("kept: earlier results stay; the rows so far are in data.csv.partial", stderr)
    wrong += [] if stdout.splitlines()[-1] == "kept/data.csv.partial" else [f"files: {stdout[-200:]!r}"]
    after = {path.name: path.read_bytes() for path in (tmp / "kept").iterdir()}
    if after.pop("data.csv.partial", None) != (tmp / "cut/data.csv").read_bytes() or after != before:
        wrong.append(f"files: {sorted(after)}, of which {[n for n in before if after.get(n) != before[n]]} differ")
    found, stdout, _ = interrupted([*endless, "-o", "kept", "--json"], tmp, signal.SIGINT)
    wrong += found + ([] if json.loads(stdout)["files"] == ["kept/data.csv.partial"] else [f"json: {stdout[-200:]!r}"])
    subprocess.run([*words, "--layers", "0", "-o", "kept"], cwd=tmp, capture_output=True, timeout=TIME_LIMIT)
    wrong += [] if (tmp / "kept/data.csv").read_bytes() == (tmp / "whole/data.csv").read_bytes() else ["data.csv stays"]
    return wrong + (["data.csv.partial stays"] if (tmp / "kept/data.csv.partial").exists() else [])


def layers_gives_its_rows(program, tmp):
    """The rows before a comparison that does not end, in the files too."""
    (tmp / "gpt2.json").write_text(json.dumps({
        "model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "vocab_size": 100,
        "layer_norm_epsilon": 1e-5, "initializer_range": 0.02, "activation_function": "gelu_new"}))
    (tmp / "text").write_text("a b c d e f g h i j")
    words = [program, "layers", "--random", "gpt2", "--config", "gpt2.json", "--text", "text", "--n", "2,4,8"]
    endless = [*words, "--layers", "0,1", "--adversarial", "4", "--restarts", "1000", "--evaluations", "1000000000"]
    wrong, stdout, stderr = interrupted([*endless, "-o", "cut"], tmp, signal.SIGINT)
    wrong += missing("interrupted: 6 of 12 rows, nothing yet from layer 1, head all, n = 2 on; "
                     "0 of 2 adversarial comparisons", stderr)
    whole = subprocess.run([*words, "--layers", "0", "-o", "whole"], cwd=tmp, capture_output=True, text=True,
                           timeout=TIME_LIMIT)
    wrong += missing(stdout.replace("cut/", "whole/"), whole.stdout)
    for name in ("data.csv", "plot.gp", "plot.svg"):
        wrong += [] if (tmp / "cut" / name).read_bytes() == (tmp / "whole" / name).read_bytes() else [f"{name} differs"]
    wrong += layers_replaces_nothing(words, endless, tmp)
    found, stdout, _ = interrupted([*endless, "--json"], tmp, signal.SIGTERM)
    document = json.loads(stdout)
    return wrong + found + ([] if document["interrupted"] and len(document["rows"]) == 6 else [f"json: {document}"])


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        for test in (search_keeps_the_best, search_as_json, exact_prints_what_is_proven, exact_goes_on,
                     exact_without_its_directory, attack_gives_its_rows, certify_gives_the_images_before,
                     layers_gives_its_rows):
            wrong = test(program, pathlib.Path(name))
            passed, failed = passed + (not wrong), failed + bool(wrong)
            for text in wrong:
                print(f"FAILED {test.__name__}\n    {text}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
