#!/usr/bin/python3
"""transformer_reference.py DIRECTORY: small random models of each family, as their files are
published, and what they compute, in double precision by torch (Debian: python3-torch).

Written from the definitions in Devlin et al. 2019, Radford et al. 2019 and Dosovitskiy et al. 2021.
DIRECTORY/NAME has config.json, model.safetensors (or shards and an index) and expected.safetensors:
ids, types, attended or pixels; layer{l}, the input of every attention layer at the tokens that are
no padding; output; norms, one row a layer: the spectral norm of the Jacobian of the whole attention
layer, then of each head without the output matrix, by automatic differentiation and a full SVD."""
import json
import math
import pathlib
import struct
import sys

import numpy
import torch
import torch.nn.functional as F

DOUBLE = torch.float64


def save(path, tensors):
    """The safetensors format; dtypes by the tensor's own."""
    words = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16",
             torch.bfloat16: "BF16", torch.int64: "I64", torch.uint8: "U8", torch.bool: "BOOL"}
    header, data, at = {}, [], 0
    for name, tensor in tensors.items():
        tensor = tensor.contiguous()
        if tensor.dtype == torch.bfloat16:
            raw = tensor.view(torch.int16).numpy().tobytes()
        else:
            raw = tensor.numpy().tobytes()
        header[name] = {"dtype": words[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [at, at + len(raw)]}
        data.append(raw)
        at += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))


class Weights:
    """Named tensors, drawn when first asked for and rounded to the type they are stored in."""

    def __init__(self, dtype, seed, prefix=""):
        self.tensor, self.dtype, self.prefix = {}, dtype, prefix
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, name, *shape, near=0.0, size=0.3):
        name = self.prefix + name
        if name not in self.tensor:
            draw = torch.randn(*shape, generator=self.generator, dtype=DOUBLE)
            self.tensor[name] = (near + size * draw).to(self.dtype)
        return self.tensor[name].to(DOUBLE)


def norm(x, w, name, c, gain="weight", shift="bias"):
    d = x.shape[-1]
    return F.layer_norm(x, (d,), w(f"{name}.{gain}", d, near=1.0), w(f"{name}.{shift}", d), c["eps"])


def linear(x, w, name, out, bias=True):
    weight = w(f"{name}.weight", out, x.shape[-1])
    return F.linear(x, weight, w(f"{name}.bias", out) if bias else None)


def attention(q, k, v, seen, factor, heads):
    """Heads side by side; the parts (n x heads x width) in front of the output matrix."""
    n, d = q.shape
    q, k, v = (part.view(n, heads, d // heads).transpose(0, 1) for part in (q, k, v))
    logits = (q @ k.transpose(1, 2)) * factor
    logits = logits.masked_fill(~seen, -math.inf)
    return (torch.softmax(logits, -1) @ v).transpose(0, 1)


def norms(function, x, heads):
    """function(x) -> (n x heads x width, n x d); of the whole, then of each head."""
    found = []
    for pick in [lambda y: function(y)[1]] + [lambda y, h=h: function(y)[0][:, h]
                                              for h in range(heads)]:
        jacobian = torch.autograd.functional.jacobian(pick, x)
        found.append(torch.linalg.matrix_norm(jacobian.reshape(-1, x.numel()), 2))
    return torch.stack(found)


class Trace:
    def __init__(self, text):
        self.text, self.inputs, self.norms = text, [], []

    def attend(self, x, function, seen, heads):
        """function(x, seen) over all rows; the record is of the tokens that are text alone."""
        kept = x[self.text].detach()
        alone = seen[self.text][:, self.text]
        self.inputs.append(kept)
        self.norms.append(norms(lambda y: function(y, alone), kept, heads))
        return function(x, seen)[1]


def bert(c, w, ids, types, attended, names):
    n, d, heads = len(ids), c["hidden_size"], c["num_attention_heads"]
    eps = {"eps": c["layer_norm_eps"]}
    words = w("embeddings.word_embeddings.weight", c["vocab_size"], d)
    positions = w("embeddings.position_embeddings.weight", c["max_position_embeddings"], d)
    kinds = w("embeddings.token_type_embeddings.weight", c["type_vocab_size"], d)
    x = norm(words[ids] + positions[:n] + kinds[types], w, "embeddings.LayerNorm", eps, *names)
    seen = attended.bool().expand(n, n)
    if c.get("is_decoder"):
        seen = seen & torch.ones(n, n).tril().bool()
    trace = Trace(attended.bool())
    for layer in range(c["num_hidden_layers"]):
        at = f"encoder.layer.{layer}"

        def attend(y, mask):
            q, k, v = (linear(y, w, f"{at}.attention.self.{part}", d)
                       for part in ("query", "key", "value"))
            mixed = attention(q, k, v, mask, (d // heads) ** -0.5, heads)
            return mixed, linear(mixed.reshape(len(y), d), w, f"{at}.attention.output.dense", d)
        x = norm(x + trace.attend(x, attend, seen, heads), w, f"{at}.attention.output.LayerNorm",
                 eps, *names)
        inner = F.gelu(linear(x, w, f"{at}.intermediate.dense", c["intermediate_size"]))
        x = norm(x + linear(inner, w, f"{at}.output.dense", d), w, f"{at}.output.LayerNorm", eps,
                 *names)
    return trace, x[trace.text]


def gelu_new(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def conv1d(x, w, name, out):
    """The layer of the published code: weight in x out."""
    return x @ w(f"{name}.weight", x.shape[-1], out) + w(f"{name}.bias", out)


def gpt2(c, w, ids):
    n, d, heads = len(ids), c["n_embd"], c["n_head"]
    eps = {"eps": c["layer_norm_epsilon"]}
    x = w("wte.weight", c["vocab_size"], d)[ids] + w("wpe.weight", c["n_positions"], d)[:n]
    seen = torch.ones(n, n).tril().bool()
    trace = Trace(torch.ones(n).bool())
    for layer in range(c["n_layer"]):
        factor = (d // heads) ** -0.5
        if c.get("scale_attn_by_inverse_layer_idx"):
            factor /= layer + 1

        def attend(y, mask):
            q, k, v = conv1d(y, w, f"h.{layer}.attn.c_attn", 3 * d).split(d, dim=1)
            mixed = attention(q, k, v, mask, factor, heads)
            return mixed, conv1d(mixed.reshape(len(y), d), w, f"h.{layer}.attn.c_proj", d)
        x = x + trace.attend(norm(x, w, f"h.{layer}.ln_1", eps), attend, seen, heads)
        inner = gelu_new(conv1d(norm(x, w, f"h.{layer}.ln_2", eps), w, f"h.{layer}.mlp.c_fc",
                                c.get("n_inner") or 4 * d))
        x = x + conv1d(inner, w, f"h.{layer}.mlp.c_proj", d)
    return trace, norm(x, w, "ln_f", eps)


def vit(c, w, pixels):
    d, heads, p = c["hidden_size"], c["num_attention_heads"], c["patch_size"]
    eps = {"eps": c["layer_norm_eps"]}
    kernel = w("embeddings.patch_embeddings.projection.weight", d, c["num_channels"], p, p)
    patches = F.conv2d(pixels[None], kernel, w("embeddings.patch_embeddings.projection.bias", d),
                       stride=p)[0].flatten(1).T
    x = torch.cat([w("embeddings.cls_token", 1, 1, d)[0], patches])
    x = x + w("embeddings.position_embeddings", 1, len(x), d)[0]
    n, bias = len(x), c.get("qkv_bias", True)
    trace = Trace(torch.ones(n).bool())
    for layer in range(c["num_hidden_layers"]):
        at = f"encoder.layer.{layer}"

        def attend(y, mask):
            q, k, v = (linear(y, w, f"{at}.attention.attention.{part}", d, bias)
                       for part in ("query", "key", "value"))
            mixed = attention(q, k, v, mask, (d // heads) ** -0.5, heads)
            return mixed, linear(mixed.reshape(len(y), d), w, f"{at}.attention.output.dense", d)
        x = x + trace.attend(norm(x, w, f"{at}.layernorm_before", eps), attend,
                             torch.ones(n, n).bool(), heads)
        inner = F.gelu(linear(norm(x, w, f"{at}.layernorm_after", eps), w,
                              f"{at}.intermediate.dense", c["intermediate_size"]))
        x = x + linear(inner, w, f"{at}.output.dense", d)
    return trace, norm(x, w, "layernorm", eps)


def write(directory, config, weights, given, trace, output, shards=1):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    names = list(weights.tensor)
    if shards == 1:
        save(directory / "model.safetensors", weights.tensor)
    else:
        where = {}
        for i in range(shards):
            file = f"model-{i + 1:05}-of-{shards:05}.safetensors"
            part = names[i::shards]
            save(directory / file, {name: weights.tensor[name] for name in part})
            where.update({name: file for name in part})
        (directory / "model.safetensors.index.json").write_text(
            json.dumps({"metadata": {}, "weight_map": where}, indent=1) + "\n")
    expected = {key: torch.as_tensor(value).to(DOUBLE).reshape(1, -1).contiguous()
                for key, value in given.items()}
    expected.update({f"layer{l}": x for l, x in enumerate(trace.inputs)})
    expected.update(output=output, norms=torch.stack(trace.norms))
    save(directory / "expected.safetensors", expected)


def beside_bert(w, c):
    """What a published file holds beside the encoder: buffers, heads of the pre-training."""
    d, words = c["hidden_size"], c["vocab_size"]
    w.tensor["bert.embeddings.position_ids"] = torch.arange(c["max_position_embeddings"])[None]
    linear(torch.zeros(1, d, dtype=DOUBLE), w, "pooler.dense", d)
    w.tensor["cls.predictions.decoder.weight"] = w.tensor["bert.embeddings.word_embeddings.weight"]
    w.tensor["cls.predictions.bias"] = torch.zeros(words)
    for name in ("gamma", "beta"):
        w.tensor[f"cls.predictions.transform.LayerNorm.{name}"] = torch.ones(d)
    w.tensor["cls.seq_relationship.weight"] = torch.zeros(2, d)


def beside_gpt2(w, c, prefix):
    """The causal masks, under a name that ends like a bias, and the output matrix."""
    n = c["n_positions"]
    for layer in range(c["n_layer"]):
        w.tensor[f"{prefix}h.{layer}.attn.bias"] = torch.ones(n, n).tril().to(
            torch.uint8 if prefix else torch.bool)[None, None]
        w.tensor[f"{prefix}h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    w.tensor["lm_head.weight"] = w.tensor[f"{prefix}wte.weight"]


def beside_vit(w, c):
    d = c["hidden_size"]
    linear(torch.zeros(1, d, dtype=DOUBLE), w, "pooler.dense", d)
    w.tensor["classifier.weight"] = torch.zeros(5, d)
    w.tensor["classifier.bias"] = torch.zeros(5)


def main():
    directory = pathlib.Path(sys.argv[1])
    generator = numpy.random.default_rng(7)
    config = {"model_type": "bert", "hidden_size": 12, "num_hidden_layers": 2,
              "num_attention_heads": 3, "intermediate_size": 20, "vocab_size": 23,
              "max_position_embeddings": 10, "type_vocab_size": 2, "hidden_act": "gelu",
              "layer_norm_eps": 1e-12}
    ids = torch.tensor(generator.integers(0, 23, 8))
    types = torch.tensor([0, 0, 0, 1, 1, 1, 1, 0])
    attended = torch.tensor([1, 1, 1, 1, 1, 0, 1, 0])  # padding inside the text as well
    w = Weights(torch.float32, 1, "bert.")
    trace, output = bert(config, w, ids, types, attended, ("gamma", "beta"))
    beside_bert(w, config)
    write(directory / "bert", config, w, {"ids": ids, "types": types, "attended": attended}, trace,
          output)
    config = dict(config, is_decoder=True, layer_norm_eps=1e-3)
    w = Weights(torch.bfloat16, 2)
    trace, output = bert(config, w, ids, types * 0, attended * 0 + 1, ("weight", "bias"))
    write(directory / "bert_decoder", config, w, {"ids": ids}, trace, output)

    config = {"model_type": "gpt2", "n_embd": 12, "n_layer": 3, "n_head": 4, "vocab_size": 19,
              "n_positions": 9, "n_inner": None, "activation_function": "gelu_new",
              "layer_norm_epsilon": 1e-5}
    ids = torch.tensor(generator.integers(0, 19, 9))
    w = Weights(torch.float32, 3, "transformer.")
    trace, output = gpt2(config, w, ids)
    beside_gpt2(w, config, "transformer.")
    write(directory / "gpt2", config, w, {"ids": ids}, trace, output)
    config = dict(config, n_inner=10, scale_attn_by_inverse_layer_idx=True)
    w = Weights(torch.float16, 4)
    trace, output = gpt2(config, w, ids)
    beside_gpt2(w, config, "")
    write(directory / "gpt2_shards", config, w, {"ids": ids}, trace, output, shards=2)

    config = {"model_type": "vit", "hidden_size": 12, "num_hidden_layers": 2,
              "num_attention_heads": 2, "intermediate_size": 14, "image_size": 6, "patch_size": 2,
              "num_channels": 3, "hidden_act": "gelu", "layer_norm_eps": 1e-12}
    pixels = torch.tensor(generator.standard_normal((3, 6, 6)))
    w = Weights(torch.float32, 5, "vit.")
    trace, output = vit(config, w, pixels)
    beside_vit(w, config)
    write(directory / "vit", config, w, {"pixels": pixels}, trace, output)
    config = dict(config, qkv_bias=False)
    w = Weights(torch.float32, 6)
    trace, output = vit(config, w, pixels)
    write(directory / "vit_unbiased", config, w, {"pixels": pixels}, trace, output)


main()
