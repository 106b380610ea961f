#!/usr/bin/env python3
"""Logits and image gradients of a network of include/tightlip/livit.h, by torch in double precision.

usage: golden.py MODEL.safetensors IMAGES.idx OUT.csv [COUNT]

One line an image: its logits, then the gradient of logit 0 less logit 1 in its pixels, every 37th.
"""
import json
import math
import pathlib
import struct
import sys

import torch


def read_safetensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    out = {}
    for name, entry in header.items():
        low, high = entry["data_offsets"]
        raw = bytearray(data[8 + size + low:8 + size + high])
        out[name] = torch.frombuffer(raw, dtype=torch.float32).reshape(entry["shape"]).double()
    return out


def attention(t, name, x):
    heads = int(t[f"{name}.heads"])
    q, k, v = (x @ t[f"{name}.{part}.weight"].t() for part in "qkv")
    q, k, v = (y.reshape(len(x), heads, -1).transpose(0, 1) for y in (q, k, v))
    p = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(q.shape[2]), dim=2)
    y = (p @ v).transpose(0, 1).reshape(len(x), -1)
    return x + t[f"{name}.scale"] * (y @ t[f"{name}.out.weight"].t())


def residual(t, name, x):
    w, q = t[f"{name}.weight"], t[f"{name}.q"]
    total = ((w.t() @ w).abs() @ torch.diag(q)).sum(1) / q
    return x - 2 * (torch.relu(x @ w + t[f"{name}.bias"]) / total) @ w.t()


def logits(t, image):
    channels, height, width = (int(v) for v in t["image.shape"])
    side = math.isqrt(t["patch.weight"].shape[1] // channels)
    patches = image.unfold(1, side, side).unfold(2, side, side)  # channels, rows, columns, side, side
    patches = patches.permute(1, 2, 0, 3, 4).reshape(-1, channels * side * side)
    x = patches @ t["patch.weight"].t() + t["patch.bias"] + t["positions"]
    block = 0
    while f"block{block}.ball" in t:
        x = x * torch.clamp(t[f"block{block}.ball"] / x.norm(), max=1)
        x = attention(t, f"block{block}.attn", x)
        layer = 0
        while f"block{block}.sll{layer}.weight" in t:
            x = residual(t, f"block{block}.sll{layer}", x)
            layer += 1
        block += 1
    features = x.mean(0) if t["head.weight"].shape[1] == x.shape[1] else x.flatten()
    return t["head.weight"] @ features + t["head.bias"]


def main():
    t = read_safetensors(pathlib.Path(sys.argv[1]))
    data = pathlib.Path(sys.argv[2]).read_bytes()
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 8
    height, width = struct.unpack(">II", data[8:16])
    with open(sys.argv[3], "w", encoding="utf-8") as out:
        for i in range(count):
            at = 16 + i * height * width
            image = torch.tensor(list(data[at:at + height * width])).double() / 255
            image = image.reshape(1, height, width).requires_grad_()
            y = logits(t, image)
            (y[0] - y[1]).backward()
            numbers = [*y.tolist(), *image.grad.flatten()[::37].tolist()]
            out.write(",".join(f"{v:.17g}" for v in numbers) + "\n")


if __name__ == "__main__":
    main()
