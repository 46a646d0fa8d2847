#!/usr/bin/env python3
"""Writes optimizers.json: parameters after some steps of PyTorch's optimizers, Lion and Adan, for tests/state/optimizer/rules.

For developers only: neither the program nor its tests run this. It needs PyTorch and NumPy; optimizers.json was made with
PyTorch 2.15. Lion and Adan are not in PyTorch: their steps are algorithm 2 of Chen et al. 2023, and the authors' code of Xie et al.
2022, in NumPy. All is float64. A case whose parameters PyTorch spells in another way than triax has "torch". AdamW8bit
steps a tensor as small as this in float32: see make_eight_bit.py for others. Muon steps a vector as AdamW does: see
make_muon.py for matrices.
"""

import json
from pathlib import Path

import numpy as np
import torch

SIZE, STEPS, SHOWN = 16, 50, (1, 2, 5, 50)

CASES = [
    ("AdamW", {"lr": 1e-2, "betas": [0.9, 0.95], "eps": 1e-6, "weight_decay": 0.1}),
    ("AdamW", {"lr": 1e-2}, {"lr": 1e-2, "weight_decay": 0.0}),
    ("Adam", {"lr": 1e-2, "weight_decay": 0.1}, {"lr": 1e-2, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adam", {"lr": 1e-2, "weight_decay": 0.1, "adam_w_mode": False}, {"lr": 1e-2, "weight_decay": 0.1}),
    ("AdamW8bit", {"lr": 1e-2, "eps": 1e-6, "weight_decay": 0.1}),
    ("Adan", {"lr": 1e-2, "weight_decay": 0.1}),
    ("Adan", {"lr": 1e-2, "betas": [0.9, 0.8], "beta3": 0.95, "eps": 1e-6, "weight_decay": 0.1, "no_prox": True}),
    ("Lion", {"lr": 1e-2, "weight_decay": 0.1}),
    ("Lion", {"lr": 1e-3, "betas": [0.95, 0.98]}),
    (
        "Muon",
        {"lr": 1e-2, "betas": [0.9, 0.95], "adamw_eps": 1e-6, "weight_decay": 0.1},
        {"lr": 1e-2, "betas": [0.9, 0.95], "eps": 1e-6, "weight_decay": 0.1},
    ),
    ("SGD", {"lr": 1e-2}),
    ("SGD", {"lr": 1e-2, "momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", {"lr": 1e-2, "momentum": 0.9, "dampening": 0.5}),
    ("SGD", {"lr": 1e-2, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 1e-1, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 1e-1, "lr_decay": 0.25, "eps": 1e-3}),
]


def start():
    """Exact in float32, one of them 0."""
    return np.array([((5 * i + 1) % 17 - 8) / 8 for i in range(SIZE)])


def gradient(step):
    """Exact in float32; the first element never has one."""
    return np.array([0.0] + [((7 * i + 13 * step * step + 3 * i * step) % 31 - 15) / 16 for i in range(1, SIZE)])


def lion(params):
    lr, decay = params["lr"], params.get("weight_decay", 0.0)
    beta1, beta2 = params.get("betas", (0.9, 0.99))
    parameter, mean = start(), np.zeros(SIZE)
    for step in range(STEPS):
        update = np.sign(beta1 * mean + (1 - beta1) * gradient(step))
        parameter = parameter * (1 - lr * decay) - lr * update
        mean = beta2 * mean + (1 - beta2) * gradient(step)
        yield parameter


def adan(params):
    lr, decay = params["lr"], params.get("weight_decay", 0.0)
    (beta1, beta2), beta3 = params.get("betas", (0.98, 0.92)), params.get("beta3", 0.99)
    parameter, mean, change, square, before = start(), np.zeros(SIZE), np.zeros(SIZE), np.zeros(SIZE), -gradient(0)
    for step in range(STEPS):
        diff = gradient(step) + before
        mean = beta1 * mean + (1 - beta1) * gradient(step)
        change = beta2 * change + (1 - beta2) * diff
        square = beta3 * square + (1 - beta3) * (gradient(step) + beta2 * diff) ** 2
        denominator = np.sqrt(square) / np.sqrt(1 - beta3 ** (step + 1)) + params.get("eps", 1e-8)
        if params.get("no_prox"):
            parameter = parameter * (1 - lr * decay)
        parameter = parameter - lr / (1 - beta1 ** (step + 1)) * mean / denominator
        parameter = parameter - lr * beta2 / (1 - beta2 ** (step + 1)) * change / denominator
        if not params.get("no_prox"):
            parameter = parameter / (1 + lr * decay)
        before = -gradient(step)
        yield parameter


def of_torch(name, params):
    parameter = torch.nn.Parameter(torch.tensor(start()))
    optimizer = getattr(torch.optim, "AdamW" if name == "Muon" else name.removesuffix("8bit"))([parameter], **params)
    for step in range(STEPS):
        parameter.grad = torch.tensor(gradient(step))
        optimizer.step()
        yield parameter.detach().numpy().copy()


def main():
    lines = []
    for case in CASES:
        name, params = case[:2]
        theirs = case[2] if len(case) > 2 else params
        ours = {"Lion": lion, "Adan": adan}
        found = list(ours[name](params) if name in ours else of_torch(name, theirs))
        entry = {"type": name, "params": params}
        if len(case) > 2:
            entry["torch"] = theirs
        entry["parameters"] = {str(step): found[step - 1].tolist() for step in SHOWN}
        lines.append(json.dumps(entry))
    head = json.dumps({"start": start().tolist(), "gradients": [gradient(s).tolist() for s in range(STEPS)]})[:-1]
    path = Path(__file__).resolve().parent / "optimizers.json"
    path.write_text(head + ', "cases": [\n' + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()
