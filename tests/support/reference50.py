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
        self.causal = attention.get("mask") == "causal"
        self.bias = mpf(attention.get("bias", 0))
        self.heads = [self.head(h) for h in attention["heads"]]
        self.output = numbers(attention["output"]) if "output" in attention else None

    def head(self, h):
        if self.kind == "l2":
            return numbers(h["Q"]), None, numbers(h["V"])
        if "A" in h:
            A = numbers(h["A"])
            return lambda x, y: dot(times(A, x), y), None, numbers(h["V"])
        Q, K = numbers(h["Q"]), numbers(h["K"])
        bq = [mpf(x) for x in h.get("bq", [0] * len(Q))]
        bk = [mpf(x) for x in h.get("bk", [0] * len(Q))]
        scale = mpf(h["scale"])

        def logit(x, y):
            q = [a + b for a, b in zip(times(Q, x), bq)]
            k = [a + b for a, b in zip(times(K, y), bk)]
            return scale * dot(q, k)
        return logit, None, numbers(h["V"])

    def token(self, query, tokens, weights):
        """Output at `query` over `tokens` with `weights` (multiplicities or masses)."""
        out = []
        for logit, _, V in self.heads:
            if self.kind == "l2":
                Q, s = logit, sqrt(mpf(len(logit)))
                logits = [-sum(c ** 2 for c in times(Q, [a - b for a, b in zip(query, y)])) / s
                          for y in tokens]
            else:
                logits = [logit(query, y) for y in tokens]
            if self.kind == "sigmoid":
                share = [w / (1 + exp(-s - self.bias)) for w, s in zip(weights, logits)]
            else:
                top = max(logits)
                share = [w * exp(s - top) for w, s in zip(weights, logits)]
                total = sum(share)
                share = [p / total for p in share]
            mean = [sum(p * y[c] for p, y in zip(share, tokens)) for c in range(len(query))]
            if self.kind == "l2":
                q = times(Q, mean)
                mean = [sum(Q[r][c] * q[r] for r in range(len(Q))) / s for c in range(len(mean))]
            out += times(V, mean)
        return times(self.output, out) if self.output else out

    def forward(self, tokens, weights=None):
        weights = weights or [mpf(1)] * len(tokens)
        return [self.token(x, tokens[:i + 1] if self.causal else tokens,
                           weights[:i + 1] if self.causal else weights)
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
