#!/usr/bin/env python3
"""What makes the certificate non-vacuous: what train.py can change, one thing at a time, and a single
head at other residual scales.

usage: sweep.py [OUT.csv]

Every run is train.py's network and loss on the first 6000 training images, 6 epochs, scored on the
first 2000 test images by the bound of the loss (looser than `tightlip certify`). Attention cannot
be switched off: ||A_h|| and ||O_h V_h|| are fixed. `without` is the clean accuracy of the same
weights when attention is left out. Rows that OUT.csv has already are not run again.
"""
import pathlib
import sys

import torch

import train

CENTRE = {"depth": 1, "heads": 2, "scale": 0.3, "epsilon": 0.4, "ball": 4, "logit-norm": 2,
          "layers": 1, "pool": "all"}
CHANGES = [{}, {"depth": 0}, {"heads": 8}, {"scale": 0.03}, {"scale": 3}, {"epsilon": 0},
           {"epsilon": 0.2}, {"epsilon": 0.8}, {"ball": 1}, {"ball": 2}, {"ball": 8}, {"ball": 16},
           {"logit-norm": 0.5}, {"logit-norm": 8}, {"layers": 0}, {"layers": 2}, {"pool": "mean"},
           {"heads": 1, "scale": 0.1}, {"heads": 1}, {"heads": 1, "scale": 1}, {"scale": 0.1},
           {"scale": 1}, {"heads": 4}, {"depth": 2}, {"depth": 3}]
EPSILONS = (0.1, 0.25, 0.5, 1.0)


def one(run):
    words = [word for name, value in run.items() for word in (f"--{name}", str(value))]
    o = train.options(["-", "--images", "6000", "--epochs", "6", *words])
    torch.manual_seed(o.seed)
    net = train.Net(o)
    train.train(net, o, *train.read_set(o, "train", o.images))
    images, labels = train.read_set(o, "t10k", 2000)
    found = train.score(net, images, labels, EPSILONS)
    for attention in net.attention:
        attention.scale = 0
    without = train.score(net, images, labels, EPSILONS[:1])[0][0]
    return [found[0][0], *(sure for _, sure in found), without]


def main():
    torch.set_num_threads(1)
    path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "sweep.csv")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    done = {line.rsplit(",", 6)[0] for line in lines[1:]}
    with open(path, "a", encoding="utf-8") as out:
        if not lines:
            out.write(",".join([*CENTRE, "clean", *(f"certified_{e}" for e in EPSILONS),
                                "without"]) + "\n")
        for change in CHANGES:
            run = {**CENTRE, **change}
            key = ",".join(str(value) for value in run.values())
            if key not in done:
                out.write(",".join([key, *(f"{x:.4f}" for x in one(run))]) + "\n")
                out.flush()


if __name__ == "__main__":
    main()
