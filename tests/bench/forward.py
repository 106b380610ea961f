"""A full pass of GPT-2 small at random weights, beside torch on the same file."""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

try:
    import numpy
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None

SIZES, LIMIT, MEMORY = (98, 1024), 1e-3, 2 << 30  # the limit on the last state, which is of size 1
CONFIG = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
          "vocab_size": 50257}


def shapes():
    d, inner = 768, 3072
    yield "wte.weight", (50257, d)
    yield "wpe.weight", (1024, d)
    for layer in range(12):
        for name, shape in (("ln_1.weight", (d,)), ("ln_1.bias", (d,)),
                            ("attn.c_attn.weight", (d, 3 * d)), ("attn.c_attn.bias", (3 * d,)),
                            ("attn.c_proj.weight", (d, d)), ("attn.c_proj.bias", (d,)),
                            ("ln_2.weight", (d,)), ("ln_2.bias", (d,)),
                            ("mlp.c_fc.weight", (d, inner)), ("mlp.c_fc.bias", (inner,)),
                            ("mlp.c_proj.weight", (inner, d)), ("mlp.c_proj.bias", (d,))):
            yield f"h.{layer}.{name}", shape
    yield "ln_f.weight", (d,)
    yield "ln_f.bias", (d,)


def draw():
    generator = numpy.random.default_rng(1)
    return {name: (1 if "ln_" in name and name.endswith("weight") else 0) +
            0.02 * generator.standard_normal(shape, dtype=numpy.float32)
            for name, shape in shapes()}


def save(directory, weights):
    header, at = {}, 0
    for name, a in weights.items():
        header[name] = {"dtype": "F32", "shape": a.shape, "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
    text = json.dumps(header).encode()
    with (directory / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for a in weights.values():
            file.write(numpy.ascontiguousarray(a, dtype="<f4").tobytes())
    (directory / "config.json").write_text(json.dumps(CONFIG))


def torch_pass(w, n):
    ids = torch.arange(n) * 7 % 50257
    x = w["wte.weight"][ids] + w["wpe.weight"][:n]
    hidden = torch.ones(n, n).triu(1).bool()

    def norm(y, name):
        return F.layer_norm(y, (768,), w[name + ".weight"], w[name + ".bias"], 1e-5)

    def affine(y, name):
        return torch.addmm(w[name + ".bias"], y, w[name + ".weight"])

    for layer in range(12):
        at = f"h.{layer}."
        q, k, v = (part.view(n, 12, 64).transpose(0, 1)
                   for part in affine(norm(x, at + "ln_1"), at + "attn.c_attn").split(768, dim=1))
        scores = (q @ k.transpose(1, 2) / 8).masked_fill(hidden, float("-inf"))
        mixed = (torch.softmax(scores, -1) @ v).transpose(0, 1).reshape(n, 768)
        x = x + affine(mixed, at + "attn.c_proj")
        inner = affine(norm(x, at + "ln_2"), at + "mlp.c_fc")
        inner = 0.5 * inner * (1 + torch.tanh(0.7978845608028654 * (inner + 0.044715 * inner ** 3)))
        x = x + affine(inner, at + "mlp.c_proj")
    return norm(x, "ln_f")


def forward(directory):
    """Rows of time and peak memory; needs numpy and torch, and half a gigabyte on disk meanwhile."""
    if torch is None:
        print("\nforward pass skipped: it needs Debian's python3-torch and python3-numpy")
        return []
    torch.set_num_threads(1)
    rows = []
    with tempfile.TemporaryDirectory(dir=directory) as place:
        place = pathlib.Path(place)
        weights = draw()
        save(place, weights)
        tensors = {name: torch.from_numpy(a) for name, a in weights.items()}
        for n in SIZES:
            done = subprocess.run([str(directory / "forward"), str(place), str(n)],
                                  stdout=subprocess.PIPE, check=True, text=True)
            row = json.loads(done.stdout)
            with torch.no_grad():
                start = time.process_time()
                last = torch_pass(tensors, n)[-1, :12]
                row["torch_seconds"] = time.process_time() - start
            row["difference"] = max(abs(float(a) - b) for a, b in zip(last, row.pop("output")))
            if row["difference"] > LIMIT or row["peak_bytes"] > MEMORY:
                sys.exit(f"bench: forward pass at n = {n}: off by {row['difference']:.2g}, "
                         f"{row['peak_bytes']} bytes")
            rows.append(row)
    print("\nforward pass of GPT-2 small, random weights, processor seconds")
    for row in rows:
        print(f"{row['n']:>6}  tightlip {row['seconds']:.3g}, torch {row['torch_seconds']:.3g}, "
              f"off by {row['difference']:.1e}, peak {row['peak_bytes'] / 2 ** 30:.2f} GiB")
    return rows
