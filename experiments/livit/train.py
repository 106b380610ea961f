#!/usr/bin/env python3
"""Trains the small vision transformer of this directory on Fashion-MNIST, certificate in the loss.

usage: train.py OUT.safetensors [--depth D] [--heads H] [--scale C] [--pool mean|all] ..

The network is the one of include/tightlip/livit.h. The loss is cross-entropy on the logits that an
attacker of l2 size epsilon could reach at most by the LoFAST bound at the clean input, with
Frobenius norms for spectral ones; `tightlip certify` computes the sharper bound.
"""
import argparse
import gzip
import json
import math
import pathlib
import struct
import time

import torch
from torch import nn
from torch.nn import functional


def read_idx(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        data = file.read()
    rank = data[3]
    shape = struct.unpack(f">{rank}I", data[4:4 + 4 * rank])
    return torch.frombuffer(bytearray(data[4 + 4 * rank:]), dtype=torch.uint8).reshape(shape)


def unit(w):
    """Divided by its spectral norm."""
    return w / torch.linalg.matrix_norm(w, 2)


def vector_norm(x):
    return x.flatten(1).norm(dim=1) + 1e-12


class Attention(nn.Module):
    """X + scale * attention(X)."""

    def __init__(self, width, heads, scale, logit_norm):
        super().__init__()
        self.heads, self.scale, self.logit_norm = heads, scale, logit_norm
        self.q, self.k, self.v = (nn.Parameter(torch.randn(width, width) / width ** 0.5)
                                  for _ in range(3))

    def weights(self):
        """||A_h|| = logit_norm and O_h = V_h', ||V_h|| = 1: otherwise the loss switches attention
        off by turning O_h against V_h."""
        h = self.heads
        root = math.sqrt(self.q.shape[0] // h)
        q = torch.cat([q * self.logit_norm * root / torch.linalg.matrix_norm(k.t() @ q, 2)
                       for q, k in zip(self.q.chunk(h), self.k.chunk(h))])
        v = torch.cat([unit(p) for p in self.v.chunk(h)])
        return q, self.k, v, v.t()

    def forward(self, x, radius):
        q, k, v, out = self.weights()
        h = self.heads
        dim = q.shape[0] // h
        total, zeta, delta2 = 0, 1, 0
        moved = x - x.mean(1, keepdim=True)
        for i in range(h):
            rows = slice(i * dim, (i + 1) * dim)
            a = k[rows].t() @ q[rows] / math.sqrt(dim)
            g = self.scale * out[:, rows] @ v[rows]
            asked, values = x @ a.t(), x @ g.t()
            p = torch.softmax(asked @ x.transpose(1, 2), dim=2)
            total = total + p @ values
            g_norm = torch.linalg.matrix_norm(g, 2)
            # Rows of P sum to 1: ||P||^2 <= its largest column sum.
            zeta = zeta + p.sum(1).max(1).values.sqrt() * g_norm
            sigma = (radius * (vector_norm(asked) + vector_norm(x @ a)) +
                     radius ** 2 * self.logit_norm)
            delta2 = delta2 + sigma / 2 * (vector_norm(moved @ g.t()) + radius * g_norm)
        return x + total, zeta * radius + delta2


class Residual(nn.Module):
    """SLL: x - 2 W T^-1 relu(W'x + b), 1-Lipschitz."""

    def __init__(self, width, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, hidden) / width ** 0.5)
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.log_q = nn.Parameter(torch.zeros(hidden))

    def forward(self, x):
        w, q = self.weight, self.log_q.exp()
        t = ((w.t() @ w).abs() * q[None, :]).sum(1) / q
        return x - 2 * (functional.relu(x @ w + self.bias) / t) @ w.t()


class Net(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.size = o.patch
        self.n = (28 // o.patch) ** 2
        self.patch = nn.Parameter(torch.randn(o.width, o.patch ** 2) / o.patch)
        self.bias = nn.Parameter(torch.zeros(o.width))
        self.positions = nn.Parameter(0.1 * torch.randn(self.n, o.width))
        self.attention = nn.ModuleList(
            [Attention(o.width, o.heads, o.scale, o.logit_norm) for _ in range(o.depth)])
        self.residual = nn.ModuleList(
            [nn.ModuleList([Residual(o.width, o.hidden) for _ in range(o.layers)])
             for _ in range(o.depth)])
        self.mean = o.pool == "mean"
        self.head = nn.Linear(o.width if self.mean else o.width * self.n, 10)
        nn.init.normal_(self.head.weight, std=5 / o.ball)
        self.ball = o.ball

    def patches(self, images):
        b, p = images.shape[0], self.size
        x = images.reshape(b, 28 // p, p, 28 // p, p).transpose(2, 3)
        return x.reshape(b, self.n, p * p)

    def forward(self, images, epsilon):
        x = self.patches(images) @ unit(self.patch).t() + self.bias + self.positions
        radius = torch.full((len(x),), float(epsilon))
        for attention, layers in zip(self.attention, self.residual):
            norm = vector_norm(x)
            # Beyond the ball the projection shrinks distances.
            shrunk = self.ball * radius / (norm - radius)
            radius = torch.where(norm > self.ball + radius, shrunk, radius)
            x = x / (norm / self.ball).clamp(min=1)[:, None, None]
            x, radius = attention(x, radius)
            for layer in layers:
                x = layer(x)
        if self.mean:
            return self.head(x.mean(1)), radius / math.sqrt(self.n)
        return self.head(x.flatten(1)), radius

    def reach(self, labels):
        """|w_j - w_y| for every j."""
        w = self.head.weight
        return (w[None, :, :] - w[labels][:, None, :]).norm(dim=2)


def certified(net, images, labels, epsilon):
    logits, radius = net(images, epsilon)
    own = logits.gather(1, labels[:, None])
    worst = logits + net.reach(labels) * radius[:, None] - own
    worst.scatter_(1, labels[:, None], -math.inf)
    return (logits.argmax(1) == labels).float(), (worst.max(1).values < 0).float()


def score(net, images, labels, epsilons, batch=500):
    out = []
    with torch.no_grad():
        for epsilon in epsilons:
            pairs = [certified(net, images[i:i + batch], labels[i:i + batch], epsilon)
                     for i in range(0, len(images), batch)]
            out.append([torch.cat(part).mean().item() for part in zip(*pairs)])
    return out


def write_safetensors(path, tensors):
    header, blocks, at = {}, [], 0
    for name, value in tensors.items():
        value = value.detach().to(torch.float32).contiguous()
        data = value.numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [at, at + len(data)]}
        blocks.append(data)
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blocks))


def tensors(net):
    """The names of include/tightlip/livit.h."""
    number = lambda x: torch.tensor([float(x)])
    out = {"image.shape": torch.tensor([1.0, 28.0, 28.0]), "patch.weight": unit(net.patch),
           "patch.bias": net.bias, "positions": net.positions}
    for i, (attention, layers) in enumerate(zip(net.attention, net.residual)):
        name = f"block{i}"
        out[f"{name}.ball"] = number(net.ball)
        for part, value in zip(("q", "k", "v", "out"), attention.weights()):
            out[f"{name}.attn.{part}.weight"] = value
        out[f"{name}.attn.heads"] = number(attention.heads)
        out[f"{name}.attn.scale"] = number(attention.scale)
        for j, layer in enumerate(layers):
            out[f"{name}.sll{j}.weight"] = layer.weight
            out[f"{name}.sll{j}.bias"] = layer.bias
            out[f"{name}.sll{j}.q"] = layer.log_q.exp()
    out["head.weight"] = net.head.weight
    out["head.bias"] = net.head.bias
    return out


def train(net, o, images, labels):
    steps = o.epochs * (len(images) // o.batch)
    optimiser = torch.optim.Adam(net.parameters(), lr=o.rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, o.rate, total_steps=steps)
    at = 0
    for epoch in range(o.epochs):
        order, start, total = torch.randperm(len(images)), time.monotonic(), 0
        for i in range(len(images) // o.batch):
            at += 1
            pick = order[i * o.batch:(i + 1) * o.batch]
            label = labels[pick]
            epsilon = o.epsilon * min(1, 2 * at / steps)
            logits, radius = net(images[pick], epsilon)
            loss = functional.cross_entropy(logits + net.reach(label) * radius[:, None], label)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / (i + 1):.4f}, {time.monotonic() - start:.0f} s",
              flush=True)


def options(words=None):
    p = argparse.ArgumentParser()
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--data", type=pathlib.Path, default="/usr/share/datasets/fashion-mnist")
    for name, kind, value in (("depth", int, 1), ("heads", int, 2), ("scale", float, 0.3),
                              ("width", int, 32), ("hidden", int, 64), ("layers", int, 1),
                              ("patch", int, 7), ("epsilon", float, 0.4), ("epochs", int, 4),
                              ("logit-norm", float, 2.0), ("ball", float, 4.0), ("batch", int, 250),
                              ("images", int, 60000), ("rate", float, 0.01), ("seed", int, 1),
                              ("pool", str, "all")):
        p.add_argument(f"--{name}", type=kind, default=value)
    return p.parse_args(words)


def read_set(o, kind, count):
    images, labels = (read_idx(o.data / f"{kind}-{name}-ubyte.gz")
                      for name in ("images-idx3", "labels-idx1"))
    return images[:count].float() / 255, labels[:count].long()


def main():
    o = options()
    torch.set_num_threads(1)
    torch.manual_seed(o.seed)
    images, labels = read_set(o, "train", o.images)
    net = Net(o)
    train(net, o, images, labels)
    images, labels = read_set(o, "t10k", 10000)
    epsilons = (0.0, 0.1, 0.25, 0.5, 1.0)
    for epsilon, (clean, sure) in zip(epsilons, score(net, images, labels, epsilons)):
        print(f"epsilon {epsilon}: clean {clean:.4f}, certified by the training bound {sure:.4f}")
    write_safetensors(o.out, tensors(net))


if __name__ == "__main__":
    main()
