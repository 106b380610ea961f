#!/usr/bin/env python3
"""The local norm of an attention head held in numpy arrays, through libtightlip.so (ctypes).

usage: measure_layer.py [LIBRARY]; a torch module's weights come in by `.detach().numpy()`.
"""
import ctypes
import ctypes.util
import math
import sys

import numpy

library = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else ctypes.util.find_library("tightlip"))
pointer = ctypes.c_void_p
reals = numpy.ctypeslib.ndpointer(dtype=numpy.float64, flags="C_CONTIGUOUS")


class Head(ctypes.Structure):
    """tl_head: logits scale <Q x_i + bq, K x_j + bk>, value V x + bv."""
    _fields_ = [("k", ctypes.c_size_t), ("v", ctypes.c_size_t)] + [
        (name, pointer) for name in ("Q", "K", "V", "bq", "bk", "bv")] + [("scale", ctypes.c_double)]


class Norm(ctypes.Structure):
    """The first fields of tl_norm_result, and room for the others."""
    _fields_ = [("log_value", ctypes.c_double), ("value", ctypes.c_double),
                ("rest", ctypes.c_double * 30)]


library.tl_layer_alloc.argtypes = [ctypes.POINTER(pointer), ctypes.c_int, ctypes.c_int, ctypes.c_size_t,
                                   ctypes.c_size_t, ctypes.POINTER(Head), pointer, ctypes.c_size_t, pointer]
library.tl_measure_alloc.argtypes = [ctypes.POINTER(pointer), ctypes.c_size_t, ctypes.c_size_t, reals,
                                     pointer, pointer, pointer]
library.tl_norm_compute.argtypes = [pointer, pointer, ctypes.c_int, pointer, ctypes.POINTER(Norm), pointer]
library.tl_layer_free.argtypes = library.tl_measure_free.argtypes = [pointer]


def local_norm(q, k, v, tokens, causal=False):
    """Spectral norm of the Jacobian of softmax(X Q'K X' / sqrt(rows)) X V' at the rows of X."""
    arrays = [numpy.ascontiguousarray(a, dtype=numpy.float64) for a in (q, k, v)]
    tokens = numpy.ascontiguousarray(tokens, dtype=numpy.float64)
    head = Head(k=len(arrays[0]), v=len(arrays[2]), Q=arrays[0].ctypes.data, K=arrays[1].ctypes.data,
                V=arrays[2].ctypes.data, scale=1 / math.sqrt(len(arrays[0])))
    layer, measure, norm = pointer(), pointer(), Norm()
    status = library.tl_layer_alloc(ctypes.byref(layer), 0, int(causal), tokens.shape[1], 1,
                                    ctypes.byref(head), None, 0, None)
    status = status or library.tl_measure_alloc(ctypes.byref(measure), *tokens.shape, tokens, None, None,
                                                None)
    status = status or library.tl_norm_compute(layer, measure, 0, None, ctypes.byref(norm), None)
    library.tl_measure_free(measure)
    library.tl_layer_free(layer)
    if status:
        raise ValueError(f"tightlip: status {status}")
    return norm.value


if __name__ == "__main__":
    rng = numpy.random.default_rng(1)
    Q, K, V = (rng.standard_normal((4, 8)) for _ in range(3))
    X = rng.standard_normal((6, 8))
    step, J = 1e-6, []

    def forward(x):
        logits = x @ Q.T @ K @ x.T / 2
        weights = numpy.exp(logits - logits.max(axis=1, keepdims=True))
        return (weights / weights.sum(axis=1, keepdims=True)) @ x @ V.T

    for i in range(X.size):
        move = numpy.zeros(X.size)
        move[i] = step
        move = move.reshape(X.shape)
        J.append((forward(X + move) - forward(X - move)).ravel() / (2 * step))
    print(f"tightlip {local_norm(Q, K, V, X):.9g}")
    print(f"numpy    {numpy.linalg.norm(numpy.array(J), 2):.9g}")
