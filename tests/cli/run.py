#!/usr/bin/env python3
"""Runs the table of command lines in cases.tsv.

usage: run.py PROGRAM [CASES]

Columns, separated by tabs: arguments; exit code; fragment of stdout; fragment of stderr; check.
An empty fragment is not looked for; "(nothing)" wants an empty stream. {data} and {tmp} stand for
the data directory beside this file and for a fresh directory, which is also the working directory.
Arguments that begin with ">" say where stdout goes: ">&-" closed, ">/dev/full" a full disk.
check: `key = number ~ tolerance` on the JSON document, keys joined by dots, or `file NAME`,
`no NAME` and `same NAME NAME` for files in {tmp}, `columns N` for lines that fit a terminal. Rows
share {tmp} and run in order.

Besides: a failing program says why on stderr, exit code 2 leaves stdout empty, and whatever --json
prints is one strict JSON document. Last line: `N passed, N failed`.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

TIME_LIMIT = 120  # seconds per row


def safetensors(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def npy(shape, data):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def onnx(tensors):
    """A model of float32 initialisers: {name: rows}."""
    def number(x):
        return bytes([x]) if x < 128 else bytes([x & 127 | 128]) + number(x >> 7)

    def field(n, data):
        return number(n << 3 | 2) + number(len(data)) + data
    graph = b"".join(
        field(5, b"\x08" + number(len(rows)) + b"\x08" + number(len(rows[0])) + b"\x10\x01"
              + field(8, name.encode())
              + field(9, b"".join(struct.pack(f"<{len(r)}f", *r) for r in rows)))
        for name, rows in tensors.items())
    return b"\x08\x08" + field(7, graph)


ONNX_CONFIG = """name = "o";
attention = { kind = "dot"; module = { file = "%s"; heads = 1; transposed = true; qkv = "qkv";
              out = "out"; get = "ask the one who trained it"; }; };
tokens = { file = "${f}.npy"; };
sweep = ( { variable = "f"; values = ("tokens"); } );
bounds = ("sharp-local");
"""


def make_files(tmp):
    """Binary files of the bad-input rows, and places where nothing can be written."""
    eye = struct.pack("<4d", 1, 0, 0, 1)
    vector = {"dtype": "F64", "shape": [2, 2], "data_offsets": [0, 32]}
    names = [f"m.{part}.weight" for part in ("q", "k", "v", "out")]
    good = {name: {**vector, "data_offsets": [32 * i, 32 * i + 32]}
            for i, name in enumerate(names)}
    tokens = {"x": vector, "wide": {"dtype": "F64", "shape": [1, 4], "data_offsets": [32, 64]}}
    files = {
        "weights": safetensors(good, 4 * eye),
        "tokens": safetensors(tokens, 2 * eye),
        "truncated": safetensors(good, 4 * eye)[:-8],
        "truncated-header": safetensors(good, 4 * eye)[:40],
        "outside": safetensors({"x": {**vector, "data_offsets": [32, 64]}}, eye),
        "huge-header": struct.pack("<Q", 1 << 60) + b"{}",
        "short": b"\x01\x02",
    }
    for name, content in files.items():
        (tmp / f"{name}.safetensors").write_bytes(content)
    (tmp / "tokens.npy").write_bytes(npy((2, 2), eye))
    image = struct.pack("<108d", *(i % 7 / 4 - 0.5 for i in range(108)))
    (tmp / "pixels.npy").write_bytes(npy((3, 36), image))
    (tmp / "image.npy").write_bytes(npy((3, 6, 6), image))
    (tmp / "huge.npy").write_bytes(npy((1000000000000, 2), eye))
    (tmp / "w.onnx").write_bytes(onnx({"qkv": [[1, 0] * 3, [0, 1] * 3], "out": [[1, 0], [0, 1]]}))
    (tmp / "onnx.cfg").write_text(ONNX_CONFIG % "w.onnx")
    (tmp / "no-onnx.cfg").write_text(ONNX_CONFIG % "absent.onnx")
    (tmp / "index").mkdir()
    (tmp / "index/shard").write_bytes(files["weights"])
    (tmp / "index/model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {name: "shard" for name in names}}))
    make_witnesses(tmp)
    (tmp / "in-the-way").write_text("a file where a directory is wanted\n")


def make_witnesses(tmp):
    """Copies of the refuted formulas' witnesses (certificates are written beside them), and edits
    of one of them."""
    refuted = pathlib.Path(__file__).resolve().parent.parent.parent / "experiments/refuted"
    for path in sorted(refuted.glob("*.json")):
        (tmp / path.name).write_text(path.read_text())
    witness = json.loads((refuted / "lipschitznorm.json").read_text())
    edits = {
        "raised": {"value": witness["value"] * (1 + 1e-9)},
        "moved-out": {"tokens": [[1.000000000000001, 0.0], [-1.0, 0.0]]},
        "noise": {"direction": [[0.3, 0.1], [-0.2, 0.9]]},
        "zero-direction": {"direction": [[0.0, 0.0], [0.0, 0.0]]},
        "inf2": {"norm": "inf2"},
        "inf2-raised": {"norm": "inf2", "value": 100.0},
        "without": {"direction": None, "value": None},
    }
    (tmp / "edited").mkdir()
    for name, edit in edits.items():
        document = {k: v for k, v in {**witness, **edit}.items() if v is not None}
        (tmp / "edited" / f"{name}.json").write_text(json.dumps(document))
    (tmp / "torn").mkdir()
    (tmp / "torn/cells.ndjson").write_text(
        json.dumps({"cell": 0, "witness": witness}) + '\n{"cell": 1, "witness": null}\n{"cell": 2, "wit')
    (tmp / "folder/cells.ndjson").mkdir(parents=True)
    (tmp / "bare").mkdir()
    (tmp / "bare/manifest.json").write_text('{"schema": "tightlip/manifest/1"}')


def strict_json(text):
    def refuse(word):
        raise ValueError(f"{word} is no JSON number")
    return json.loads(text, parse_constant=refuse)


def run(program, arguments, tmp, columns="96"):
    """Exit code, stdout, stderr, where a line has so many columns."""
    shell = [word for word in arguments if word.startswith(">")]
    plain = [word for word in arguments if not word.startswith(">")]
    command = [program, *plain]
    if shell:
        command = ["sh", "-c", f'"$@" {" ".join(shell)}', "sh", *command]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp, timeout=TIME_LIMIT,
                          stdin=subprocess.DEVNULL, env={**os.environ, "COLUMNS": columns})
    return done.returncode, done.stdout, done.stderr


def fragment_missing(fragment, stream, name):
    if fragment == "(nothing)":
        return [f"{name}: expected nothing, found {stream[:200]!r}"] if stream else []
    if fragment and fragment not in stream:
        return [f"{name}: expected {fragment!r}, found {stream[:600]!r}"]
    return []


def lookup(document, key):
    for part in key.split("."):
        document = document[int(part) if part.isdigit() else part]
    return document


def check_extra(check, stdout, tmp):
    if not check:
        return []
    if check.startswith(("file ", "no ")):
        word, name = check.split(" ", 1)
        there = (tmp / name).exists()
        return [] if there == (word == "file") else [f"{name}: there: {there}"]
    if check.startswith("same "):
        first, second = (tmp / name for name in check.split()[1:])
        return [] if first.read_bytes() == second.read_bytes() else [f"{check}: they differ"]
    if check.startswith("columns "):
        wide = [line for line in stdout.splitlines() if len(line) > int(check.split()[1])]
        return [f"{check}: found {wide[0]!r}"] if wide else []
    key, wanted = check.split(" = ")
    try:
        found = lookup(strict_json(stdout), key)
    except (KeyError, IndexError, TypeError) as error:
        return [f"{key}: not in the document: {error!r}"]
    if "~" not in wanted:
        return [] if found == json.loads(wanted) else [f"{key}: expected {wanted}, found {found!r}"]
    value, tolerance = map(float, wanted.split("~"))
    ok = found is not None and abs(found - value) <= tolerance * max(abs(value), 1e-300)
    return [] if ok else [f"{key}: expected {wanted}, found {found!r}"]


def problems(row, program, data, tmp):
    arguments, code, out, err, check = (row + [""] * 5)[:5]
    words = [w.replace("{data}", str(data)).replace("{tmp}", str(tmp))
             for w in shlex.split(arguments)]
    columns = check.removeprefix("columns ") if check.startswith("columns ") else "96"
    found_code, stdout, stderr = run(program, words, tmp, columns)
    wrong = []
    if found_code != int(code):
        wrong.append(f"exit code: expected {code}, found {found_code}; stderr {stderr[:600]!r}")
    wrong += fragment_missing(out, stdout, "stdout")
    wrong += fragment_missing(err, stderr, "stderr")
    if found_code != 0 and not stderr:
        wrong.append("stderr: expected a reason, found nothing")
    if found_code == 2 and stdout:
        wrong.append(f"stdout: expected nothing beside exit code 2, found {stdout[:200]!r}")
    if "--json" in words and found_code in (0, 3) and not any(w[0] == ">" for w in words if w):
        try:
            strict_json(stdout)
        except ValueError as error:
            return wrong + [f"stdout: no strict JSON: {error}"]
    if not wrong:
        wrong += check_extra(check, stdout, tmp)
    return wrong


def interrupted_run(program, data, tmp):
    """SIGINT in the middle of a run: exit code 1, how to go on, and then the same bytes."""
    config = str(tmp / "it's long.cfg")
    shutil.copy(data / "long.cfg", config)
    arguments = [program, "run", config, "--threads", "2", "--no-plot"]
    process = subprocess.Popen([*arguments, "-o", "cut"], cwd=tmp, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    partial = tmp / "cut/cells.ndjson.partial"
    deadline = time.monotonic() + TIME_LIMIT
    while process.poll() is None and time.monotonic() < deadline:
        if partial.exists() and partial.stat().st_size > 0:
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    stderr = process.communicate(timeout=TIME_LIMIT)[1]
    wrong = []
    if process.returncode != 1:
        wrong.append(f"exit code: expected 1, found {process.returncode}; {stderr[:600]!r}")
    how = re.search(r"Go on with: tightlip (run .*--resume)", stderr)
    if not how:
        return wrong + [f"stderr: expected how to go on, found {stderr[:600]!r}"]
    if (tmp / "cut/cells.ndjson").exists():
        wrong.append("cells.ndjson: there after an interruption")
    for again in (["sh", "-c", f'"$0" {how.group(1)}', program], [*arguments, "-o", "whole"]):
        done = subprocess.run(again, cwd=tmp, capture_output=True, text=True, timeout=TIME_LIMIT)
        if done.returncode != 0:
            return wrong + [f"{again}: exit code {done.returncode}: {done.stderr[:600]!r}"]
    for name in ("cells.ndjson", "data.csv", "manifest.json"):
        if (tmp / "cut" / name).read_bytes() != (tmp / "whole" / name).read_bytes():
            wrong.append(f"{name}: other bytes after an interruption")
    return wrong


def dropped_run(program, data, tmp):
    """SIGTERM while a search is in hand that lasts much longer: dropped within a second, and how to go
    on is the whole call."""
    config = str(data / "endless.cfg")
    given = ["--seed", "9", "--shard", "1/1", "--no-plot"]
    process = subprocess.Popen([program, "run", *given, config, "-o", "dropped"], cwd=tmp,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not (tmp / "dropped/cells.ndjson.partial").exists():
        time.sleep(0.005)
    time.sleep(0.3)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    stderr = process.communicate(timeout=TIME_LIMIT)[1]
    wrong = fragment_missing(f"tightlip run {config} -o dropped {' '.join(given)} --resume", stderr, "stderr")
    if process.returncode != 1 or time.monotonic() - began > 3:
        wrong.append(f"exit code {process.returncode} after {time.monotonic() - began:.1f} s; {stderr[:600]!r}")
    return wrong


def rival_runs(program, data, tmp):
    """A second run into a directory is refused while the first goes on, and not after its death."""
    command = [program, "run", str(data / "endless.cfg"), "--threads", "1", "-o", "rivals"]
    small = [program, "run", str(data / "small.cfg"), "--no-plot", "--overwrite", "-o", "rivals"]
    process = subprocess.Popen(command, cwd=tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not (tmp / "rivals/manifest.json.partial").exists():
        time.sleep(0.005)
    wrong = []
    for second in ([*command, "--resume"], small):
        done = subprocess.run(second, cwd=tmp, capture_output=True, text=True, timeout=TIME_LIMIT)
        if done.returncode != 1:
            wrong.append(f"exit code: expected 1, found {done.returncode}")
        wrong += fragment_missing("tightlip run: rivals: another run is writing here", done.stderr, "stderr")
    process.kill()
    process.wait(timeout=TIME_LIMIT)
    done = subprocess.run(small, cwd=tmp, capture_output=True, text=True, timeout=TIME_LIMIT)
    return wrong if done.returncode == 0 else wrong + [f"after a kill: {done.stderr[:600]!r}"]


def damaged_run(program, data, tmp):
    """Finished cells: refused without a flag, and computed again where a line has changed."""
    config = tmp / "longer.cfg"
    config.write_text((data / "long.cfg").read_text().replace("evaluations = 600", "evaluations = 3000"))
    arguments = [program, "run", str(config), "--threads", "1", "--no-plot"]
    process = subprocess.Popen([*arguments, "-o", "damaged"], cwd=tmp, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    partial = tmp / "damaged/cells.ndjson.partial"
    while process.poll() is None and not (partial.exists() and partial.stat().st_size > 0):
        time.sleep(0.005)
    process.kill()
    process.wait(timeout=TIME_LIMIT)
    wrong = []
    again = [*arguments, "-o", "damaged"]
    done = subprocess.run(again, cwd=tmp, capture_output=True, text=True, timeout=TIME_LIMIT)
    if done.returncode != 2:
        wrong.append(f"exit code: expected 2, found {done.returncode}: {done.stderr[:600]!r}")
    for fragment in ("finished cells of one: keep them with --resume", "--overwrite"):
        wrong += fragment_missing(fragment, done.stderr, "stderr")
    partial.write_bytes(partial.read_bytes().replace(b'"value":', b'"value":1', 1))
    for command in ([*again, "--resume"], [*arguments, "-o", "undamaged"]):
        done = subprocess.run(command, cwd=tmp, capture_output=True, text=True, timeout=TIME_LIMIT)
        if done.returncode != 0:
            return wrong + [f"{command[-1]}: exit code {done.returncode}: {done.stderr[:600]!r}"]
        if command[-1] == "--resume":
            wrong += fragment_missing("line 1 does not match its checksum", done.stderr, "stderr")
    for name in ("cells.ndjson", "data.csv", "manifest.json"):
        if (tmp / "damaged" / name).read_bytes() != (tmp / "undamaged" / name).read_bytes():
            wrong.append(f"{name}: other bytes after damage")
    return wrong


def mark_violated(path, line):
    lines = path.read_text().splitlines()
    record = json.loads(lines[line])
    record["violation"] = record["bounds"][0]["violation"] = True
    lines[line] = json.dumps(record, separators=(",", ":"))
    path.write_text("\n".join(lines) + "\n")


def violated_run(program, data, tmp):
    """A record that says a bound was exceeded: exit code 3, and the summary names the bound."""
    command = [program, "run", str(data / "small.cfg"), "--no-plot", "-o", "violated"]
    subprocess.run(command, cwd=tmp, capture_output=True, timeout=TIME_LIMIT)
    mark_violated(tmp / "violated/cells.ndjson", 1)
    done = subprocess.run([*command, "--resume", "--json"], cwd=tmp, capture_output=True, text=True,
                          timeout=TIME_LIMIT)
    if done.returncode != 3:
        return [f"exit code: expected 3, found {done.returncode}: {done.stderr[:600]!r}"]
    document = strict_json(done.stdout)
    wrong = fragment_missing("EXCEEDED", done.stderr, "stderr")
    if document["failed"] != 0:
        wrong.append(f"failed: expected 0, found {document['failed']}")
    if document["violations"] != 1 or document["table"][1]["violated"] != ["castin-general"]:
        wrong.append(f"violations: expected one, castin-general, found {document['table']!r}")
    return wrong


def violated_merge(program, data, tmp):
    """The same of shards that are joined."""
    config = str(data / "small.cfg")
    for part in "12":
        subprocess.run([program, "run", config, "--shard", f"{part}/2", "-o", f"violated{part}"], cwd=tmp,
                       capture_output=True, timeout=TIME_LIMIT)
    mark_violated(tmp / "violated2/cells.ndjson", 0)
    done = subprocess.run([program, "merge", "-o", "joined-violated", config, "violated1", "violated2", "--json"],
                          cwd=tmp, capture_output=True, text=True, timeout=TIME_LIMIT)
    if done.returncode != 3:
        return [f"exit code: expected 3, found {done.returncode}: {done.stderr[:600]!r}"]
    found = strict_json(done.stdout)["violations"]
    return fragment_missing("EXCEEDED", done.stderr, "stderr") + [f"violations: {found}"] * (found != 1)


def written_attacks(program, data, tmp):
    """Of several budgets the file holds what the last one found: tokens, or atoms with their masses."""
    wrong = []
    for name, radius in (("good", None), ("mean-edge", 2)):
        code, stdout, stderr = run(program, ["attack", "--epsilon", "0.01,0.1,0.5", "--restarts", "4",
                                             str(data / f"{name}.json"), "--json", "-o", "several.json"], tmp)
        if code != 0:
            return [f"{name}: exit code {code}: {stderr[:600]!r}"]
        rows = strict_json(stdout)["attacks"]
        written = strict_json((tmp / "several.json").read_text())
        found = [(row["tokens"], None) if "tokens" in row else
                 ([atom["position"] for atom in row["moved"]], [atom["log_mass"] for atom in row["moved"]])
                 for row in rows]
        last = (written["tokens"], written.get("log_mass"))
        if last != found[2] or found[2] in found[:2]:
            wrong.append(f"{name}: expected {found[2]}, found {last}")
        if written.get("domain", {}).get("radius") != radius:
            wrong.append(f"{name}: domain: expected radius {radius}, found {written.get('domain')}")
    return wrong


def certified_table(program, data, tmp):
    """Medians and shares are those of the images, whose labels are those of the file."""
    root = data.parent.parent.parent / "experiments"
    labels = (root / "data/fashion_mnist/labels.idx").read_bytes()[8:48]
    code, stdout, stderr = run(program, ["certify", str(root / "livit/model.safetensors"), "--images",
                                         str(root / "data/fashion_mnist/images.idx"), "--labels",
                                         str(root / "data/fashion_mnist/labels.idx"), "--count", "40", "--pgd",
                                         "--restarts", "1", "--steps", "4", "--epsilon", "0.1,0.5,3", "--json"], tmp)
    if code != 0:
        return [f"exit code {code}: {stderr[:600]!r}"]
    document = strict_json(stdout)
    images, table = document["images"], document["table"]
    right = [i["label"] == i["predicted"] for i in images]
    wrong = [] if [i["label"] for i in images] == list(labels) and not all(right) else ["labels of other images"]
    if [i["radius"] > 0 for i in images] != right or [i["margin"] > 0 for i in images] != right:
        wrong.append("radius or margin of a wrong answer")
    expected = {"median_radius": statistics.median(i["radius"] for i in images), "clean": sum(right) / 40}
    wrong += [f"{key}: expected {x}, found {document[key]}" for key, x in expected.items() if document[key] != x]
    for row in table:
        share = sum(0 < i["radius"] >= row["epsilon"] for i in images) / 40
        if row["certified"] != share or not share <= row["attacked"] <= document["clean"]:
            wrong.append(f"certified: expected {share}, found {row}")
    return wrong + ([] if any(row["certified"] < row["attacked"] for row in table) and
                    table[3]["attacked"] < document["clean"] else [f"table: {table}"])


def odd_paths(program, data, tmp):
    """A directory whose name holds blanks, quotes, what shells and gnuplot read as commands, letters
    beyond ASCII and a line end: the same results as anywhere else."""
    base = tmp / "a b'\"$x`y`; | \\n%s ü☃\nsecond line"
    base.mkdir()
    (base / "small.cfg").write_text((data / "small.cfg").read_text())
    (base / "w ü.safetensors").write_bytes((tmp / "weights.safetensors").read_bytes())
    (base / "t\nu.npy").write_bytes((tmp / "tokens.npy").read_bytes())
    wrong = []
    for words in (["run", base / "small.cfg", "-o", base / "o ut"],
                  ["run", data / "small.cfg", "-o", "plain"],
                  ["verify", base / "o ut", "--enclose"], ["plot", base / "o ut"],
                  ["report", base / "o ut", "-o", base / "re port.html"],
                  ["norm", "--weights", base / "w ü.safetensors", "--module", "m", "--heads", "1",
                   "--tokens", base / "t\nu.npy"]):
        code, _, stderr = run(program, [str(w) for w in words], tmp)
        if code != 0:
            wrong.append(f"{words[0]}: exit code {code}: {stderr[:600]!r}")
    if not wrong:
        wrong = [f"{name}: other bytes" for name in ("cells.ndjson", "data.csv", "plot.svg")
                 if (base / "o ut" / name).read_bytes() != (tmp / "plain" / name).read_bytes()]
    code, _, stderr = run(program, ["run", str(base / "absent.cfg")], tmp)
    return wrong + (fragment_missing("second line/absent.cfg", stderr, "stderr") if code == 1 else
                    [f"absent.cfg: exit code {code}"])


def decimal_comma(program, data, tmp):
    """Where people write 0,5: the same bytes, and numbers still have a point."""
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", tmp / "de_DE.UTF-8"],
                          capture_output=True, check=False) if shutil.which("localedef") else None
    if made is None or not (tmp / "de_DE.UTF-8").exists():
        print("skipped decimal_comma: no localedef with de_DE (package locales)")
        return []
    words = [program, "run", str(data / "small.cfg"), "-o"]
    german = {**os.environ, "LC_ALL": "de_DE.UTF-8", "LOCPATH": str(tmp)}
    if subprocess.run(["printf", "%.1f", "0,5"], env=german, capture_output=True,
                      check=False).stdout != b"0,5":
        return ["the locale made by localedef has no decimal comma"]
    wrong = []
    for name, environment in (("german", german), ("point", os.environ)):
        done = subprocess.run([*words, name], cwd=tmp, env=environment, capture_output=True,
                              text=True, timeout=TIME_LIMIT)
        if done.returncode != 0:
            wrong.append(f"{name}: exit code {done.returncode}: {done.stderr[:600]!r}")
    bound = subprocess.run([program, "bound", "--radius", "0.5", "--json"], env=german,
                           capture_output=True, text=True, timeout=TIME_LIMIT)
    if bound.returncode != 0:
        wrong.append(f"bound --radius 0.5: {bound.stderr!r}")
    return wrong or [f"{name}: other bytes" for name in ("cells.ndjson", "data.csv", "plot.svg")
                     if (tmp / "german" / name).read_bytes() != (tmp / "point" / name).read_bytes()]


def many_threads(program, data, tmp):
    """More threads than any machine has, from the environment: brought down to a limit."""
    done = subprocess.run([program, "doctor", "--json"], capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1000000"}, timeout=TIME_LIMIT)
    threads = strict_json(done.stdout)["threads"] if done.returncode == 0 else None
    return [] if threads == 1024 else [f"expected 1024 threads, found {threads}"]


def closed_streams(program, data, tmp):
    """No stream at all: files that the program opens must not take the place of stdout."""
    words = f"run {shlex.quote(str(data / 'small.cfg'))} -o"
    done = subprocess.run(["sh", "-c", f'"$0" {words} silent <&- >&- 2>&-', program], cwd=tmp,
                          timeout=TIME_LIMIT)
    code = run(program, [*shlex.split(words), "heard"], tmp)[0]
    if done.returncode != 1 or code != 0:
        return [f"exit codes: expected 1 and 0, found {done.returncode} and {code}"]
    return [f"{name}: other bytes" for name in
            ("cells.ndjson", "data.csv", "manifest.json", "plot.svg", "plot.png")
            if (tmp / "silent" / name).read_bytes() != (tmp / "heard" / name).read_bytes()]


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    here = pathlib.Path(__file__).resolve().parent
    program = str(pathlib.Path(sys.argv[1]).resolve())
    table = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else here / "cases.tsv"
    passed = failed = 0
    os.environ["LC_ALL"] = "C"
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        make_files(tmp)
        for number, line in enumerate(table.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            wrong = problems(line.split("\t"), program, here / "data", tmp)
            passed += not wrong
            failed += bool(wrong)
            for text in wrong:
                print(f"FAILED {table.name}:{number}: {line.split(chr(9))[0]}\n    {text}")
        for test in (odd_paths, decimal_comma, many_threads, closed_streams, interrupted_run, dropped_run,
                     rival_runs, damaged_run, violated_run, violated_merge, written_attacks,
                     certified_table):
            wrong = test(program, here / "data", tmp)
            passed += not wrong
            failed += bool(wrong)
            for text in wrong:
                print(f"FAILED {test.__name__}\n    {text}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
