#!/usr/bin/env python3
"""Writes muon.json: matrices after some steps of torch.optim.Muon in float64, for tests/state/optimizer.

For developers only: neither the program nor its tests run this. It needs torch.optim.Muon (PyTorch from 2.9 on); muon.json
was made with the arithmetic of its _muon.py (commit 098e03f9) under PyTorch 2.8. PyTorch rounds the direction to bfloat16
before its iteration; here that is left out.
"""

import json
from pathlib import Path

import torch

SHAPES, STEPS, SHOWN = ((6, 10), (10, 6), (8, 8)), 50, (1, 2, 5, 50)

CASES = [
    {"lr": 1e-2},
    {"lr": 1e-2, "weight_decay": 0.1, "nesterov": False},
    {"lr": 1e-3, "momentum": 0.8, "adjust_lr_fn": "match_rms_adamw"},
    {"lr": 1e-2, "ns_coefficients": [1.5, -0.5, 0.0], "ns_steps": 3, "eps": 1e-3},
]


def start(rows, columns):
    """Exact in float32."""
    return [[((5 * i + 3 * j + i * j + 1) % 17 - 8) / 8 for j in range(columns)] for i in range(rows)]


def gradient(step, rows, columns):
    """Exact in float32."""
    return [
        [((7 * i + 13 * step * step + 3 * i * step + 5 * j + i * j * (step + 2)) % 31 - 15) / 16 for j in range(columns)]
        for i in range(rows)
    ]


def trained(params, shape):
    torch.Tensor.bfloat16 = torch.Tensor.clone
    parameter = torch.nn.Parameter(torch.tensor(start(*shape), dtype=torch.float64))
    optimizer = torch.optim.Muon([parameter], **({"weight_decay": 0.0} | params))
    found = {}
    for step in range(STEPS):
        parameter.grad = torch.tensor(gradient(step, *shape), dtype=torch.float64)
        optimizer.step()
        if step + 1 in SHOWN:
            found[str(step + 1)] = parameter.detach().flatten().tolist()
    return found


def main():
    lines = []
    for params in CASES:
        for shape in SHAPES:
            lines.append(json.dumps({"params": params, "shape": shape, "parameters": trained(params, shape)}))
    path = Path(__file__).resolve().parent / "muon.json"
    path.write_text('{"cases": [\n' + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()
