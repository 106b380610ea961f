#!/usr/bin/env python3
"""Writes tests/reference/*.json: problems with norms of the token Jacobian to 50 digits.

usage: reference50.py [DIRECTORY]     (python3 with mpmath)

Independent of every formula of this project: the layer is written down as a map of tokens, copies
one by one, and differentiated by central differences of step 1e-60 at 240 digits; the norms are
those of the matrix of differences. In mean field the atoms move whole with weights sqrt(a_k/a_l),
and a copy that moves alone is a query outside the measure.
"""
import json
import pathlib
import random
import sys

from mpmath import exp, matrix, mp, mpf, sqrt, svd_r

mp.dps = 240
STEP = mpf(10) ** -60


def dot(a, b):
    return sum((x * y for x, y in zip(a, b)), mpf(0))


def times(M, x):
    return [dot(row, x) for row in M]


def numbers(M):
    return [[mpf(x) for x in row] for row in M]


class Layer:
    def __init__(self, attention):
        self.kind = attention["kind"]
        self.mask = attention.get("mask", "none")
        self.factor = attention.get("value_factor", True)
        self.nu, self.tau, self.eps = (mpf(attention.get(k, 1)) for k in ("nu", "tau", "eps"))
        self.bias = mpf(attention.get("bias", 0))
        self.heads = [self.head(h) for h in attention["heads"]]
        self.output = numbers(attention["output"]) if "output" in attention else None

    def head(self, h):
        """Logit and value as functions of tokens."""
        V = numbers(h["V"])
        if "A" in h and self.kind == "cosine":
            h = {**h, "Q": h["A"], "K": [[int(r == c) for c in range(len(h["A"]))]
                                         for r in range(len(h["A"]))]}
        elif "A" in h:
            A = numbers(h["A"])
            return lambda x, y: dot(times(A, x), y), lambda y: times(V, y)
        Q, K = numbers(h["Q"]), numbers(h.get("K", h["Q"]))
        bq = [mpf(x) for x in h.get("bq", [0] * len(Q))]
        bk = [mpf(x) for x in h.get("bk", [0] * len(Q))]
        bv = [mpf(x) for x in h.get("bv", [0] * len(V))]
        add = lambda a, b: [x + y for x, y in zip(a, b)]
        if self.kind == "l2":
            s = sqrt(mpf(len(Q)))

            def value(y):
                if not self.factor:
                    return times(V, y)
                q = times(Q, y)
                return times(V, [sum(K[r][c] * q[r] for r in range(len(K))) / s
                                 for c in range(len(y))])
            return lambda x, y: -sum((a - b) ** 2 for a, b in zip(times(Q, x), times(K, y))) / s, value
        if self.kind == "cosine":
            unit = lambda z: [x / sqrt(dot(z, z) + self.eps) for x in z]
            return (lambda x, y: self.tau * dot(unit(add(times(Q, x), bq)), unit(add(times(K, y), bk))),
                    lambda y: [self.nu * x for x in unit(add(times(V, y), bv))])
        scale = mpf(h["scale"])
        return (lambda x, y: scale * dot(add(times(Q, x), bq), add(times(K, y), bk)),
                lambda y: times(V, y))

    def sees(self, i, j):
        if isinstance(self.mask, list):
            return self.mask[i][j] == 1
        return self.mask == "none" or j <= i

    def token(self, query, tokens, weights):
        """Output at `query` over `tokens` with `weights` (multiplicities or masses)."""
        out = []
        for logit, value in self.heads:
            logits = [logit(query, y) for y in tokens]
            if self.kind == "sigmoid":
                share = [w / (1 + exp(-s - self.bias)) for w, s in zip(weights, logits)]
            else:
                top = max(logits)
                share = [w * exp(s - top) for w, s in zip(weights, logits)]
                total = sum(share)
                share = [p / total for p in share]
            out += [dot(share, column) for column in zip(*map(value, tokens))]
        return times(self.output, out) if self.output else out

    def forward(self, tokens, weights=None):
        weights = weights or [mpf(1)] * len(tokens)
        seen = [[j for j in range(len(tokens)) if self.sees(i, j)] for i in range(len(tokens))]
        return [self.token(x, [tokens[j] for j in seen[i]], [weights[j] for j in seen[i]])
                for i, x in enumerate(tokens)]


def differences(f, x):
    """Columns of the derivative of f (a flat list) at x (rows)."""
    columns = []
    for i in range(len(x)):
        for c in range(len(x[0])):
            sides = []
            for sign in (1, -1):
                moved = [list(row) for row in x]
                moved[i][c] += sign * STEP
                sides.append(f(moved))
            columns.append([(a - b) / (2 * STEP) for a, b in zip(*sides)])
    return columns


def spectral(columns):
    M = matrix(len(columns[0]), len(columns))
    for j, column in enumerate(columns):
        for i, x in enumerate(column):
            M[i, j] = x
    mp.dps = 80
    value = max(svd_r(M if M.rows >= M.cols else M.T, compute_uv=False))
    mp.dps = 240
    return value


def text(x):
    return mp.nstr(x, 50, strip_zeros=False)


def token_norms(layer, tokens):
    flat = lambda x: [y for row in layer.forward(x) for y in row]
    columns = differences(flat, tokens)
    rows = list(zip(*columns))
    return {"norm_2": text(spectral(columns)),
            "norm_inf": text(max(sum(map(abs, row)) for row in rows)),
            "norm_1": text(max(sum(map(abs, column)) for column in columns)),
            "norm_fro": text(sqrt(sum(x ** 2 for column in columns for x in column)))}


def mean_field_norm(layer, tokens, log_mass):
    mass = [exp(mpf(x)) for x in log_mass]
    d = len(tokens[0])
    columns = differences(lambda x: [y for row in layer.forward(x, mass) for y in row], tokens)
    out = len(columns[0]) // len(tokens)
    for j, column in enumerate(columns):
        for i in range(len(column)):
            column[i] *= sqrt(mass[i // out] / mass[j // d])
    best = spectral(columns)
    for x in tokens:
        best = max(best, spectral(differences(lambda y: layer.token(y[0], tokens, mass), [x])))
    return {"norm_2": text(best)}


def draw(rng, rows, cols, size=1.0):
    return [[float(f"{rng.gauss(0, size):.17g}") for _ in range(cols)] for _ in range(rows)]


def av(rng, d, size, **more):
    return {"kind": "dot", "mask": "none",
            "heads": [{"A": draw(rng, d, d, size), "V": draw(rng, d, d)}], **more}


def problems():
    rng = random.Random(50)
    yield "plain", {"attention": av(rng, 2, 1.0), "tokens": draw(rng, 4, 2)}
    yield "saturated", {"attention": av(rng, 2, 30.0), "tokens": draw(rng, 4, 2, 2.0)}
    yield "huge", {"attention": av(rng, 2, 700.0), "tokens": draw(rng, 3, 2, 700.0)}
    yield "copies", {"attention": av(rng, 2, 1.5), "tokens": draw(rng, 3, 2),
                     "multiplicity": [1, 5, 3]}
    yield "split", {"attention": {"kind": "dot", "mask": "none",
                                  "heads": [{"A": [[-1.0]], "V": [[1.0]]}]},
                    "tokens": [[-2.0], [0.0], [2.0]], "multiplicity": [2, 2, 2]}
    yield "causal", {"attention": {**av(rng, 2, 2.0), "mask": "causal"}, "tokens": draw(rng, 5, 2)}
    heads = [{"Q": draw(rng, 2, 3), "K": draw(rng, 2, 3), "V": draw(rng, 2, 3),
              "bq": draw(rng, 1, 2)[0], "bk": draw(rng, 1, 2)[0], "bv": draw(rng, 1, 2)[0],
              "scale": 0.7} for _ in range(2)]
    yield "heads", {"attention": {"kind": "dot", "mask": "none", "heads": heads,
                                  "output": draw(rng, 3, 4)}, "tokens": draw(rng, 3, 3)}
    yield "l2", {"attention": {"kind": "l2", "mask": "none",
                               "heads": [{"Q": draw(rng, 1, 2), "V": draw(rng, 2, 2)},
                                         {"Q": draw(rng, 2, 2), "V": draw(rng, 1, 2)}]},
                 "tokens": draw(rng, 3, 2), "multiplicity": [2, 1, 2]}
    yield "sigmoid", {"attention": {**av(rng, 2, 1.0, bias=-0.75), "kind": "sigmoid"},
                      "tokens": draw(rng, 3, 2), "multiplicity": [1, 2, 2]}
    yield "rare", {"attention": {"kind": "dot", "mask": "none",
                                 "heads": [{"A": [[-1.0]], "V": [[1.0]]}]},
                   "tokens": [[-3.0], [3.0]], "log_mass": [-5e-9, -19.113827]}
    yield "rarest", {"attention": {"kind": "dot", "mask": "none",
                                   "heads": [{"A": [[-1.0, 0.25], [0.0, -1.0]],
                                              "V": [[1.0, 0.0], [0.5, 1.0]]}]},
                     "tokens": [[-20.0, 1.0], [20.0, 0.0], [0.0, 3.0]],
                     "log_mass": [0.0, -800.0, -750.0]}
    yield "sigmoid-heads", {"attention": {"kind": "sigmoid", "mask": "causal", "bias": 0.5,
                                          "heads": heads, "output": draw(rng, 2, 4)},
                            "tokens": draw(rng, 3, 3)}
    yield "l2-causal", {"attention": {"kind": "l2", "mask": "causal",
                                      "heads": [{"Q": draw(rng, 2, 3), "V": draw(rng, 2, 3)}]},
                        "tokens": draw(rng, 4, 3)}
    rows = lambda *text: [[int(c) for c in row] for row in text]
    yield "masked", {"attention": {**av(rng, 2, 4.0), "mask": rows("10011", "01100", "00100", "10011",
                                                                   "11111")},
                     "tokens": draw(rng, 5, 2)}
    yield "l2-untied", {"attention": {"kind": "l2", "mask": rows("110", "011", "101"),
                                      "heads": [{"Q": draw(rng, 2, 2), "K": draw(rng, 2, 2),
                                                 "V": draw(rng, 2, 2)}]},
                        "tokens": draw(rng, 3, 2)}
    yield "l2-bare", {"attention": {"kind": "l2", "mask": "none", "value_factor": False,
                                    "heads": [{"Q": draw(rng, 1, 2), "V": draw(rng, 2, 2)}]},
                      "tokens": draw(rng, 3, 2), "multiplicity": [2, 1, 2]}
    biased = [{key: draw(rng, 2, 2) for key in "QKV"} | {key: draw(rng, 1, 2)[0]
                                                         for key in ("bq", "bk", "bv")}
              for _ in range(2)]
    yield "cosine", {"attention": {"kind": "cosine", "mask": "none", "nu": 1.5, "tau": 3.0,
                                   "eps": 1e-3, "heads": biased, "output": draw(rng, 2, 4)},
                     "tokens": draw(rng, 3, 2), "multiplicity": [1, 3, 2]}
    yield "cosine-masked", {"attention": {"kind": "cosine", "mask": rows("1000", "0110", "1011", "0001"),
                                          "tau": 40.0, "eps": 0.25,
                                          "heads": [{"A": draw(rng, 2, 2), "V": draw(rng, 1, 2)}]},
                            "tokens": draw(rng, 4, 2)}
    yield "cosine-small", {"attention": {"kind": "cosine", "mask": "none", "tau": 200.0, "eps": 1e-6,
                                         "heads": [{"A": draw(rng, 2, 2), "V": draw(rng, 2, 2)}]},
                           "tokens": draw(rng, 4, 2, 1e-3)}
    yield "sigmoid-masked", {"attention": {**av(rng, 2, 2.0, bias=-1.0), "kind": "sigmoid",
                                           "mask": rows("101", "011", "010")},
                             "tokens": draw(rng, 3, 2)}
    yield "cosine-mean", {"attention": {"kind": "cosine", "mask": "none", "tau": 5.0, "eps": 0.01,
                                        "heads": [{"A": draw(rng, 2, 2), "V": draw(rng, 2, 2)}]},
                          "tokens": draw(rng, 3, 2), "log_mass": [-1e-6, -14.5, -15.0]}


def main():
    here = pathlib.Path(__file__).resolve().parent.parent / "reference"
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here
    for name, problem in problems():
        layer = Layer(problem["attention"])
        tokens = numbers(problem["tokens"])
        if "log_mass" in problem:
            expect = mean_field_norm(layer, tokens, problem["log_mass"])
        else:
            counts = problem.get("multiplicity", [1] * len(tokens))
            written = [x for x, n in zip(tokens, counts) for _ in range(n)]
            expect = token_norms(layer, written)
        document = {"schema": "tightlip/problem/1", "name": name, **problem, "expect": expect}
        (target / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")
        print(name, expect["norm_2"])


main()
