#!/usr/bin/env python3
"""damaged.py PROGRAM: results that were edited or cut by hand.

`verify` must tell records whose published numbers their witnesses do not bear out, tables that the
records do not give and conjectures that came out otherwise, and go on where a certificate cannot be written; `plot` and
`report` must refuse
what they cannot read, with file, line and what was expected, and leave the old plot alone. Last line: `N passed, N failed`.
"""
import decimal
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

TIME_LIMIT = 120  # seconds per call
HERE = pathlib.Path(__file__).resolve().parent
CONFIG = """name = "w"; attention = { kind = "dot"; d = 2; A = %s; V = "identity"; };
domain = { kind = "ball"; radius = 1.0; };
sweep = ( { variable = "n"; values = (2, 5); } );
search = { atoms = 2; restarts = 4; evaluations = 200; starts = ("pair"); seed = 1; };
bounds = ("all"); plot = { x = "n"; };
"""


def bound(record, key):
    return next(row for row in record["bounds"] if row["key"] == key)


# What is edited in a record, and what verify says of it.
RECORDS = [
    (lambda r: r["lower"].update(value=48.0), "lower.value: expected 2."),
    (lambda r: r["lower"].update(log10=r["lower"]["log10"] + 1e-7), "lower.log10: expected 0."),
    (lambda r: r["lower"].update(certified="47.9"), 'found "47.9"'),
    (lambda r: r["lower"].update(certified="1.5e+400"), 'lower.certified: expected at most 2.'),
    (lambda r: r["lower"].update(certified_log10=1.68), "lower.certified_log10: expected at most 0."),
    (lambda r: r["lower"].update(certified=raised(r["lower"]["certified"])), "lower.certified: expected at most 2."),
    (lambda r: bound(r, "sharp").update(value=0.5), "bound sharp.value: expected "),
    (lambda r: bound(r, "sharp").update(log10=-0.3), "bound sharp.log10: expected "),
    (lambda r: bound(r, "sharp").update(upper_certified="0.5"), "bound sharp.upper_certified: expected "),
    (lambda r: bound(r, "sharp").update(applicable=False), "bound sharp.applicable: expected true, found false"),
    (lambda r: bound(r, "sharp").update(key="shark"), "bound.key: expected one of tightlip list bounds"),
    (lambda r: r.update(proven_ratio_log10=r["proven_ratio_log10"] + 1e-7), "record.proven_ratio_log10: expected "),
    (lambda r: r.update(published_ratio_log10=r["published_ratio_log10"] - 1e-7), "record.published_ratio_log10: expected "),
    (lambda r: r.update(ratio_log10=3.0), "record.ratio_log10: expected "),
]

def raised(decimal_text):
    """By what double precision would not see, and a certificate does."""
    return str(decimal.Decimal(decimal_text) * (1 + decimal.Decimal("1e-12")))


def farther(r):
    """As the witness moved to the attacked tokens, a thousandth farther."""
    for x, y in zip(r["attack"]["tokens"], r["witness"]["tokens"]):
        x[:] = [b + 1.001 * (a - b) for a, b in zip(x, y)]


def first_token(tokens, to):
    return [[to, *tokens[0][1:]], *tokens[1:]]


# What else a cell may hold beside its witness: the experiment, whose record is confirmed, and edits.
MODES = {
    "moved": ("""attention = { kind = "dot"; d = 2; A = "identity"; V = "identity"; };
tokens = { construction = "normal"; n = 4; seed = 1; };
domain = { kind = "frobenius-ball"; epsilon = 0.5; }; bounds = ("none");
compare = ("fro", "inf", "jt-f"); attack = { restarts = 2; steps = 20; };""", [
        (lambda r: r["attack"].update(effect=r["attack"]["effect"] * (1 + 1e-6)), "attack.effect: expected "),
        (lambda r: r["attack"].update(attack_log10=r["attack"]["attack_log10"] + 1e-6), "attack.attack_log10: expected "),
        (lambda r: r["attack"].update(tokens=first_token(r["attack"]["tokens"], 9.0)), "attack.tokens: expected tokens within epsilon"),
        (farther, "attack.tokens: expected tokens within epsilon"),
        (lambda r: r["attack"]["tokens"].pop(), "attack.tokens: expected as many rows as there are tokens"),
        (lambda r: r["compare"]["fro"].update(value=1.0), "compare fro.value: expected "),
        (lambda r: r["compare"]["jt-f"].update(log10=r["compare"]["jt-f"]["log10"] + 1e-6), "compare jt-f.log10: expected "),
        (lambda r: r["compare"].update(two=r["compare"]["inf"]), "compare.key: expected one of tightlip list norms"),
        (lambda r: r["lower"].update(joint_log10=0.5), "lower.joint_log10: expected "),
        (lambda r: r["lower"].update(atoms=5), "lower.atoms: expected 4, found 5"),
        (lambda r: r["lower"].update(min_mass_log10=-0.5), "lower.min_mass_log10: expected -0.602"),
    ]),
    "parted": ("""attention = { kind = "dot"; d = 1; A = "minus-identity"; V = "identity"; };
tokens = { values = ([-1.0], [0.0], [1.0]); mass = [0.25, 0.5, 0.25]; scale = 2.0; };
domain = { kind = "ball"; radius = 2.0; }; bounds = ("none");
attack = { epsilon = 0.001; restarts = 2; steps = 20; worst = { restarts = 1; evaluations = 20; least_mass = 0.01; }; };""", [
        (lambda r: r["attack"].update(effect=r["attack"]["effect"] * (1 + 1e-5)), "attack.effect: expected "),
        (lambda r: r["attack"].update(distance=r["attack"]["distance"] * (1 - 1e-5)), "attack.distance: expected "),
        (lambda r: r["attack"].update(attack_log10=r["attack"]["attack_log10"] + 1e-2), "attack.attack_log10: expected at most "),
        (lambda r: r["attack"].update(whole_log10=r["attack"]["attack_log10"] + 1e-6), "attack.whole_log10: expected at most "),
        (lambda r: r["attack"].update(move_log10=0.5), "attack.move_log10: expected "),
        (lambda r: r["attack"].update(pointwise_log10=2.5), "attack.pointwise_log10: expected "),
        (lambda r: r["attack"].update(far_log10=2.0), "attack.pointwise_log10: expected 2, found "),
        (lambda r: r["attack"].update(split_slope_log10=2.0), "attack.pointwise_log10: expected 2, found "),
        (lambda r: r["attack"].update(neighbourhood_log10=-2.5), "attack.neighbourhood_log10: expected at least pointwise_log10"),
        (lambda r: r["attack"].update(attack_gain_log10=3.0), "attack.attack_gain_log10: expected "),
        (lambda r: r["attack"].update(slope_gain_log10=3.0), "attack.slope_gain_log10: expected "),
        (lambda r: r["attack"].update(log_mass=[[0.0]]), "attack.log_mass: expected one of each token"),
        (lambda r: r["lower"].update(split_log10=1.5), "lower.split_log10: expected "),
    ]),
    "enclosed": ("""attention = { kind = "dot"; d = 1; A = "minus-identity"; V = "identity"; };
domain = { kind = "ball"; radius = 1.0; }; n = 2; bounds = ("none");
search = { restarts = 4; evaluations = 500; }; exact = { tolerance = 1e-4; };""", [
        (lambda r: r["exact"].update(lower=1.7), "exact.lower: expected 1.6016"),
        (lambda r: r["exact"].update(lower_certified="1.7"), "exact.lower_certified: expected 1.6016"),
        (lambda r: r["exact"].update(upper_log10=0.3), "exact.upper_log10: expected 0.204"),
        (lambda r: r["exact"].update(upper=1.5, upper_log10=math.log10(1.5), upper_certified="1.5"), "lower.log10: expected at most 0.176"),
        (lambda r: r["exact"].update(tokens=[[1.25], [-1.0]]), "exact.tokens: expected tokens in the domain"),
        (lambda r: r["exact"].update(tokens=[[0.5, 1.0]]), "exact.tokens: expected rows of numbers"),
    ]),
    "inverted": ("""attention = { random = { d = 4; heads = 2; std = 0.5; seed = 1; }; kind = "l2"; };
tokens = { construction = "normal"; n = 5; std = 2.0; }; bounds = ("none");
invert = { bound = "l2-2"; c = 0.9; iterations = 12; };""", [
        (lambda r: r["invert"].update(c=0.8), "invert.step: expected "),
        (lambda r: r["invert"].update(local_factor=0.25), "invert.local_factor: expected "),
        (lambda r: r["invert"]["errors"].__setitem__(1, r["invert"]["errors"][1] * (1 + 1e-6)), "invert.errors[1]: expected "),
        (lambda r: r["invert"].update(errors=[None]), "invert.errors[0]: expected "),
    ]),
    "star": ("""attention = { kind = "l2"; star = true; }; n = 8; bounds = ("l2-form-a");""", [
        (lambda r: r["lower"]["star"].update(outer=8), "star.outer: expected "),
        (lambda r: r["lower"]["star"].update(centre=3), "star.centre: expected "),
        (lambda r: r["lower"]["star"].update(a=0.5), "star.a: expected "),
        (lambda r: r["lower"]["star"].update(rho=0.5), "star.rho: expected "),
    ]),
    "conjectured": ("""attention = { kind = "dot"; d = 1; A = "minus-identity"; V = "identity"; };
tokens = { values = ([-1.0], [1.0]); }; bounds = ("sharp-local");
conjecture = ( { key = "low"; log = "log(norm_v) + log(g) - 1"; }, { key = "high"; log = "log(norm_v) + log(1 + 4*g)"; },
               { key = "never"; log = "log(-g)"; scope = "local"; }, { key = "rows"; log = "g - 9"; norm = "inf"; },
               { key = "close"; log = "0.3"; } );""", [
        (lambda r: bound(r, "low").pop("refuted"), "bound low.refuted: expected true, found null"),
        (lambda r: bound(r, "close").pop("refuted"), "bound close.refuted: expected true, found null"),
        (lambda r: bound(r, "high").update(refuted=True), "bound high.refuted: expected false, found true"),
        (lambda r: bound(r, "rows").update(refuted=True), "bound rows.refuted: expected false, found true"),
        (lambda r: bound(r, "low").update(log10=bound(r, "low")["log10"] + 1e-7), "bound low.log10: expected -0.434"),
        (lambda r: bound(r, "high").update(value=4.0), "bound high.value: expected 5.00000000"),
        (lambda r: bound(r, "never").update(applicable=True), "bound never.applicable: expected false, found true"),
        (lambda r: bound(r, "high").update(applicable=False), "bound high.applicable: expected true, found false"),
        (lambda r: bound(r, "rows").update(comparable=True), "bound rows.comparable: expected false, found true"),
        (lambda r: bound(r, "high").update(comparable=False), "bound high.comparable: expected true, found false"),
        (lambda r: bound(r, "high").update(key="higher"), "bound.key: expected a conjecture of the manifest, found \"higher\""),
    ]),
    "beside": ("""attention = { kind = "dot"; d = 1; A = "identity"; V = "identity"; };
tokens = { construction = "castin"; n = 5; radius = 2.0; }; domain = { kind = "ball"; radius = 2.0; };
search = { atoms = 2; restarts = 4; evaluations = 200; }; bounds = ("none");""", [
        (lambda r: r["given"].update(value=9.0), "given.value: expected "),
        (lambda r: r["given"].update(certified="9.0"), "given.certified: expected "),
        (lambda r: r["given"].update(certified_log10=0.9), "given.certified_log10: expected "),
    ]),
}

# Edits of data.csv, as the text of the whole file.
TABLES = [
    (lambda t: t[:200], "data.csv:1: expected the end of a line"),
    (lambda t: t[:-40], "data.csv:3: expected the end of a line"),
    (lambda t: t.replace("lower_log10", "lower_log11", 1), 'data.csv:1: expected a column "lower_log10", found none'),
    (lambda t: t.splitlines(True)[0], "data.csv:1: expected rows below the header, found none"),
    (lambda t: "".join(t.splitlines(True)[:2]), "data.csv:2: expected rows of 2 cells, found 1"),
    (lambda t: set_field(t, 2, "n", "x.88"), 'data.csv:3: n: expected a number or a value of the sweep, found "x.88"'),
    (lambda t: set_field(t, 1, "lower_log10", "x.88"), 'data.csv:2: lower_log10: expected a number, found "x.88"'),
    (lambda t: set_field(t, 1, "bound:sharp", "0.3.1"), 'data.csv:2: bound:sharp: expected a number, found "0.3.1"'),
]

# The same for verify, which makes the table again: edits and the place that it names. `found` is that of the line.
REMADE = [
    (lambda t: set_field(t, 1, "lower", "2.5"), "line 2, lower: expected ", ", found 2.5"),
    (lambda t: set_field(t, 2, "bound:sharp", ""), "line 3, bound:sharp: expected ", ", found "),
    (lambda t: set_field(t, 2, "ratio", "1.5"), "line 3, ratio: expected ", ", found 1.5"),
    (lambda t: set_field(t, 1, "n", "3"), "line 2, n: expected 2, found 3", ""),
    (lambda t: t.replace("lower_log10", "lower_log11", 1), "line 1, lower_log10: expected lower_log10, found lower_log11", ""),
    (lambda t: "".join(t.splitlines(True)[:2]), "line 3: expected a row, found none", ""),
    (lambda t: t + t.splitlines(True)[2], "line 4: expected no row, found one", ""),
    (lambda t: "".join(t.splitlines(True)[i] for i in (0, 2, 1)), "line 2, n: expected 2, found 5", "places in all"),
    (lambda t: t[:-40], "line 3: expected ", " cells, found "),
]

FITTED = """name = "fitted"; attention = { kind = "dot"; d = 1; A = "identity"; V = "identity"; };
tokens = { values = ([-1.0], [0.5]); scale = "R"; }; bounds = ("none"); certify = false;
sweep = ( { variable = "A"; values = ("minus-identity", "identity"); }, { variable = "R"; values = (0.5, 1.0, 2.0); } );
plot = { x = "R"; log = "xy"; fit = true; exponent = 0.5; };
"""

# The same of its fit.csv.
REFITTED = [
    (lambda t: set_field(t, 1, "slope", "0.5"), "line 2, slope: expected 0.314", ", found 0.5"),
    (lambda t: set_field(t, 2, "half_95", "1e-3"), "line 3, half_95: expected ", ", found 1e-3"),
    (lambda t: set_field(t, 1, "standard_error", "1e-9"), "line 2, standard_error: expected ", ", found 1e-9"),
    (lambda t: set_field(t, 1, "points", "3.0"), "line 2, points: expected 3, found 3.0", ""),
    (lambda t: set_field(t, 2, "exponent", "0.50000000000000001"), "line 3, exponent: expected 0.5, found 0.50000000000000001", ""),
    (lambda t: set_field(t, 2, "constant", "1.34505491"), "line 3, constant: expected 1.345", ", found 1.34505491"),
    (lambda t: set_field(t, 2, "constant", ""), "line 3, constant: expected 1.345", ", found "),
    (lambda t: t.replace("A = identity", "A = rotation"), "line 3, series: expected A = identity, found A = rotation", ""),
    (lambda t: t.replace("slope_95", "slope_96"), "line 1, slope_95: expected slope_95, found slope_96", ""),
    (lambda t: "".join(t.splitlines(True)[:2]), "line 3: expected a row, found none", ""),
    (lambda t: t + t.splitlines(True)[2], "line 4: expected no row, found one", ""),
    (lambda t: t.replace('"A = identity"', '"A = identity'), "line 3: expected 11 cells, found no cells", ""),
]

MANIFESTS = [
    (lambda m: {**m, "schema": "tightlip/manifest/9"}, 'schema: expected "tightlip/manifest/1", found "tightlip/manifest/9"'),
    (lambda m: {}, 'schema: expected "tightlip/manifest/1", found none'),
    (lambda m: {**m, "config": 3}, "config: expected an object, found another value"),
]


def set_field(text, line, column, value):
    rows = [row.split(",") for row in text.splitlines()]
    rows[line][rows[0].index(column)] = value
    return "\n".join(",".join(row) for row in rows) + "\n"


def strip_witnesses(where):
    """Tables alone are looked at in no time."""
    records = [json.loads(line) for line in (where / "cells.ndjson").read_text().splitlines()]
    (where / "cells.ndjson").write_text("".join(json.dumps({**r, "witness": None}) + "\n" for r in records))


def call(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=TIME_LIMIT)
    return done.returncode, done.stdout, done.stderr


def expect(what, answer, code, out="", err=""):
    wrong = []
    if answer[0] != code:
        wrong.append(f"exit code: expected {code}, found {answer[0]}")
    wrong += [f"{name}: expected {part!r}, found {text[:600]!r}"
              for name, part, text in (("stdout", out, answer[1]), ("stderr", err, answer[2])) if part not in text]
    return [f"{what}: {text}" for text in wrong]


def make(program, tmp):
    """A searched A, which the bounds know by its norm, and a given one."""
    for name, a in (("worst", '"worst"'), ("given", '"minus-identity"')):
        (tmp / f"{name}.cfg").write_text(CONFIG % a)
        code, _, err = call(program, "run", tmp / f"{name}.cfg", "-o", tmp / name)
        if code:
            sys.exit(f"run: {err}")


def false_records(program, tmp):
    for name in ("worst", "given"):
        records = (tmp / name / "cells.ndjson").read_text().splitlines()
        lines = records[:]
        for edit, _ in RECORDS:
            record = json.loads(records[1])
            edit(record)
            lines.append(json.dumps(record))
        (tmp / "false").mkdir(exist_ok=True)
        (tmp / "false/cells.ndjson").write_text("\n".join(lines) + "\n")
        shutil.copy(tmp / name / "manifest.json", tmp / "false")
        code, out, err = call(program, "verify", tmp / "false")
        said = out.splitlines()
        yield expect(name, (code, out, err), 3, "cells.ndjson:2: confirmed",
                     f"{len(lines)} witnesses, 2 confirmed, {len(RECORDS)} whose record differs")
        for number, (_, part) in enumerate(RECORDS, 3):
            start = f"{tmp}/false/cells.ndjson:{number}: record differs: cell 1, "
            yield [] if said[number - 1].startswith(start) and part in said[number - 1] else \
                [f"{name}: expected {part!r}, found {said[number - 1]!r}"]
    (tmp / "false/cells.ndjson").write_text("\n".join((lines[0], lines[-1])) + "\n")
    code, out, _ = call(program, "verify", tmp / "false", "--json")
    items = json.loads(out)
    yield [] if code == 3 and items[1]["verdict"] == "record differs" and items[0]["differs"] == [] and \
        items[1]["differs"][0]["at"] == "record.ratio_log10" else [f"--json: exit code {code}, {out[:600]}"]


def whose_a(program, tmp):
    """Whether the bounds are of the A that was found is what the config in the manifest says; without
    one, bounds on a ball are not computed again."""
    for records, manifest in (("worst", "given"), ("given", "worst")):
        where = tmp / f"{records} as {manifest}"
        where.mkdir()
        shutil.copy(tmp / records / "cells.ndjson", where)
        answer = call(program, "verify", where)
        yield expect(where.name, answer, 0, err="2 witnesses, 2 confirmed; ") + \
            expect(where.name, answer, 0, err=" bounds not computed again")
        shutil.copy(tmp / records / "manifest.json", where)
        answer = call(program, "verify", where)
        yield expect(where.name, answer, 0, err="2 witnesses, 2 confirmed\n")
        shutil.copy(tmp / manifest / "manifest.json", where)
        answer = call(program, "verify", where)
        yield expect(where.name, answer, 3, "bound numerical-range.applicable: expected "
                     + ("true, found false" if records == "worst" else "false, found true"),
                     "2 whose record differs")


def false_modes(program, tmp):
    for name, (config, edits) in MODES.items():
        (tmp / f"{name}.cfg").write_text(f'name = "{name}";\n{config}\n')
        where = tmp / name
        # a conjecture without a value there fails the run, which leaves the rest
        yield expect(name, call(program, "run", tmp / f"{name}.cfg", "-o", where, "--no-plot"), name == "conjectured")
        yield expect(name, call(program, "verify", where), 0, "data.csv: confirmed: ")
        record = (where / "cells.ndjson").read_text()
        lines = []
        for edit, _ in edits:
            edited = json.loads(record)
            edit(edited)
            lines.append(json.dumps(edited) + "\n")
        (where / "cells.ndjson").write_text("".join(lines))
        code, out, err = call(program, "verify", where)
        yield expect(name, (code, out, err), 3, err=f"{len(edits)} whose record differs")
        for (_, part), said in zip(edits, out.splitlines()):
            yield [] if part in said else [f"{name}: expected {part!r}, found {said!r}"]


def edited(program, where, name, text, edits, told):
    """Each edit of a table is found, and said in each of two ways."""
    for edit, place, found in edits:
        (where / name).write_text(edit(text))
        answer = call(program, "verify", where)
        yield (expect(place, answer, 3, f"{name}: table differs: {place}", told)
               + expect(place, answer, 3, found, f"{name}: the table holds what its records do not give"))


def false_tables(program, tmp):
    """data.csv that is not what its records give; one that another mathematical library would write is."""
    where = tmp / "given"
    table = (where / "data.csv").read_text()
    yield expect("table", call(program, "verify", where), 0, f"{where}/data.csv: confirmed: 2 rows as the records give them")
    yield from edited(program, where, "data.csv", table, REMADE, "2 confirmed; 1 tables differ from their records")
    items = json.loads(call(program, "verify", where, "--json")[1])
    yield [] if [item["verdict"] for item in items] == ["confirmed", "confirmed", "table differs"] and \
        items[2]["differs"][0]["at"] == "line 3" and items[2]["differing"] == 1 else [f"--json: {items[2]}"]
    ratio = float(table.splitlines()[1].split(",")[table.split(",").index("ratio")])
    for ulps, code in ((1, 0), (1000, 3)):
        (where / "data.csv").write_text(set_field(table, 1, "ratio", repr(ratio + ulps * math.ulp(ratio))))
        yield expect(f"{ulps} ulp", call(program, "verify", where), code)
    (where / "data.csv").write_text(table)
    manifest = (where / "manifest.json").read_text()
    (where / "manifest.json").write_text(json.dumps({}))
    yield expect("manifest", call(program, "verify", where), 1, "cells.ndjson:2: confirmed", "manifest.json: schema: expected")
    (where / "manifest.json").write_text(manifest)


def false_conjectures(program, tmp):
    """What came of a conjecture is said as by run; another formula in the manifest than the records are of."""
    where = tmp / "conjecture"
    said = call(program, "run", HERE / "data/conjecture.cfg", "-o", where, "--no-plot")[2]
    outcomes = [line for line in said.splitlines() if line.startswith("conjecture ")]
    code, out, err = call(program, "verify", where)
    yield expect("verify", (code, out, err), 0, err="4 witnesses, 4 confirmed\n")
    yield [] if len(outcomes) == 2 and out.splitlines()[-2:] == [f"{where}/cells.ndjson: {line}" for line in outcomes] else \
        [f"expected {outcomes}, found {out[-900:]!r}"]
    items = json.loads(call(program, "verify", where, "--json")[1])
    yield [] if [(i["verdict"], i["key"], i["tested"], i["violated"], i["tightest"]) for i in items[-2:]] == \
        [("conjecture refuted", "low", 4, [1, 3], 1), ("conjecture stands", "high", 4, [], 1)] else [f"--json: {items[-2:]}"]
    manifest = (where / "manifest.json").read_text()
    (where / "manifest.json").write_text(manifest.replace("1 + 4*g", "1 + 5*g"))
    yield expect("formula", call(program, "verify", where), 3, "bound high.log10: expected ", "4 whose record differs")
    (where / "manifest.json").unlink()
    yield expect("no manifest", call(program, "verify", where), 0, err="4 confirmed; 8 bounds not computed again")


def false_fits(program, tmp):
    """fit.csv that is not what the records give, whatever stands in data.csv; another mathematical library's is."""
    where = tmp / "fitted"
    (tmp / "fitted.cfg").write_text(FITTED)
    yield expect("run", call(program, "run", tmp / "fitted.cfg", "-o", where), 0)
    strip_witnesses(where)
    fits, table = (where / "fit.csv").read_text(), (where / "data.csv").read_text()
    yield expect("fits", call(program, "verify", where), 0, f"{where}/fit.csv: confirmed: 2 rows as the records give them")
    yield from edited(program, where, "fit.csv", fits, REFITTED, "1 tables differ from their records")
    slope = float(fits.splitlines()[1].split(",")[fits.split(",").index("slope")])
    for factor, code in ((1 + 1e-14, 0), (1 + 1e-11, 3)):
        (where / "fit.csv").write_text(set_field(fits, 1, "slope", repr(slope * factor)))
        yield expect(f"factor {factor}", call(program, "verify", where), code)
    (where / "fit.csv").write_text(fits)
    (where / "data.csv").write_text(set_field(table, 1, "lower_log10", "0.5"))
    yield expect("data.csv", call(program, "verify", where), 3, "fit.csv: confirmed", "1 tables differ")
    (where / "data.csv").write_text(table)
    (where / "fit.csv").unlink()
    answer = call(program, "verify", where)
    yield expect("no fit.csv", answer, 0, "data.csv: confirmed") + (["fit.csv is spoken of"] if "fit.csv" in answer[1] else [])


def unwritten_certificates(program, tmp):
    """Two records with a refuted formula's witness; one certificate cannot be written."""
    shutil.copytree(tmp / "given", tmp / "unwritten")
    refuted = HERE.parent.parent / "experiments/refuted/lipschitznorm.json"
    line = json.dumps({"cell": 0, "witness": json.loads(refuted.read_text())}) + "\n"
    (tmp / "unwritten/cells.ndjson").write_text(2 * line)
    (tmp / "unwritten/cells.1.certificate.json/in-the-way").mkdir(parents=True)
    answer = call(program, "verify", tmp / "unwritten", "--against", "lipschitznorm")
    yield (expect("unwritten", answer, 3, "cells.ndjson:2: refutes", "1 certificates not written")
           + expect("unwritten", answer, 3, "cells.ndjson:1: refutes", "certificate cannot be written"))
    there = (tmp / "unwritten/cells.2.certificate.json").exists()
    yield [] if there else ["unwritten: no certificate of the second record"]


def damaged_plots(program, tmp):
    where = tmp / "given"
    table, manifest = (where / "data.csv").read_text(), (where / "manifest.json").read_text()
    before = {name: (where / name).read_bytes() for name in ("plot.gp", "plot.svg", "plot.png")}

    def drawn(said):
        answer = call(program, "plot", where)
        kept = [] if all((where / name).read_bytes() == data for name, data in before.items()) else \
            [f"{said}: the old plot is gone"]
        return expect(said, answer, 2 if said else 0, err=said or "") + kept
    for edit, said in TABLES:
        (where / "data.csv").write_text(edit(table))
        yield drawn(said)
    (where / "data.csv").write_text(table)
    for edit, said in MANIFESTS:
        (where / "manifest.json").write_text(json.dumps(edit(json.loads(manifest))))
        yield drawn(said) + expect(said, call(program, "report", where, "-o", tmp / "page.html"), 2,
                                   err="manifest.json: " + said)
    (where / "manifest.json").write_text(manifest[:manifest.index("title")])
    said = "manifest.json:5:2: "
    yield drawn(said) + expect(said, call(program, "report", where, "-o", tmp / "page.html"), 2, err=said) + \
        expect(said, call(program, "merge", "-o", tmp / "joined", tmp / "given.cfg", where), 2, err=said)
    (where / "manifest.json").write_text(manifest)
    records = (where / "cells.ndjson").read_text()
    (where / "cells.ndjson").write_text(records.splitlines(True)[0])
    yield expect("a record", call(program, "report", where, "-o", tmp / "page.html"), 2,
                 err="cells.ndjson:1: expected 2 records, found 1")
    (where / "cells.ndjson").write_text(records)
    yield drawn(None) + expect("whole", call(program, "report", where, "-o", tmp / "page.html"), 0)


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        make(program, tmp)
        for test in (false_records, false_modes, false_tables, false_fits, false_conjectures, whose_a, unwritten_certificates, damaged_plots):
            for wrong in test(program, tmp):
                passed += not wrong
                failed += bool(wrong)
                for text in wrong:
                    print(f"FAILED {test.__name__}: {text}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
