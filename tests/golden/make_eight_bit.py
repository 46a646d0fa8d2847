#!/usr/bin/env python3
"""Writes eight_bit.json: the dynamic maps of bitsandbytes, and parameters after some steps of AdamW with 8-bit moments, for
tests/kernels/optimizer/quantized.

For developers only: neither the program nor its tests run this. It needs bitsandbytes, PyTorch and NumPy; eight_bit.json
was made with bitsandbytes 0.50.2. Moments are rounded to the nearest code, block by block of 256 elements, as its GPU
kernels and its backend "default" do; its C library for CPUs has a coarser search, which is not the nearest code below
1e-4. The step between is PyTorch's AdamW in NumPy, in float32: bitsandbytes' own has the decay after the step.
"""

import json
from pathlib import Path

import bitsandbytes.functional as bnb
import numpy as np
import torch

SIZE, STEPS, SHOWN, STRIDE = 4500, 50, (1, 2, 5, 50), 29
LR, BETA1, BETA2, EPSILON, DECAY = 1e-2, 0.9, 0.95, 1e-6, 0.1


def start():
    """Exact in float32."""
    i = np.arange(SIZE, dtype=np.int64)
    return (((5 * i + 1) % 8191 - 4095) / 4096).astype(np.float32)


def gradient(step):
    """Exact in float32, of sizes from 2^-16 to 1, as is the test's."""
    i = np.arange(SIZE, dtype=np.int64)
    mantissa = (1237 * i + 4099 * step * step + 31 * i * step) % 8191 - 4095
    return (mantissa / 4096 * 2.0 ** -((i * 7 + step) % 17)).astype(np.float32)


def packed(values, code):
    """values, rounded to 8 bits and back."""
    blocks = np.pad(values, (0, -len(values) % 256)).reshape(-1, 256)
    scales = np.abs(blocks).max(1, keepdims=True)
    bounds = (code[:-1] + code[1:]) / 2
    quantized = torch.bucketize(torch.from_numpy(blocks / np.where(scales > 0, scales, np.float32(1))), bounds)
    return (code[quantized].numpy() * scales).reshape(-1)[: len(values)]


def main():
    signs, positive = (bnb.create_dynamic_map(signed=s) for s in (True, False))
    p, m, v = start(), np.zeros(SIZE, np.float32), np.zeros(SIZE, np.float32)
    f = np.float32
    shown = {}
    for step in range(1, STEPS + 1):
        g = gradient(step)
        m = f(BETA1) * m + f(1 - BETA1) * g
        v = f(BETA2) * v + f(1 - BETA2) * (g * g)
        rate = f(LR / (1 - BETA1**step))
        p = p - (f(LR * DECAY) * p + rate * m / (np.sqrt(v * f(1 / (1 - BETA2**step))) + f(EPSILON)))
        m, v = packed(m, signs), packed(v, positive)
        if step in SHOWN:
            shown[step] = [x[::STRIDE].astype(float).tolist() for x in (p, m, v)]
    golden = {
        "size": SIZE, "stride": STRIDE,
        "signs": signs.numpy().astype(float).tolist(), "positive": positive.numpy().astype(float).tolist(),
        "options": {"lr": LR, "betas": [BETA1, BETA2], "eps": EPSILON, "weight_decay": DECAY},
        "steps": {str(s): dict(zip(("parameter", "m", "v"), x)) for s, x in shown.items()},
    }
    path = Path(__file__).resolve().parent / "eight_bit.json"
    path.write_text(json.dumps(golden, separators=(",", ":")).replace('},"', '},\n"').replace('],"', '],\n"') + "\n")


if __name__ == "__main__":
    main()
