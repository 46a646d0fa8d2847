#!/usr/bin/env python3
"""A GPT-2 training step in PyTorch on the CPU: the peer that benchmarks/step is held against.

Needs PyTorch 2.4 or later and is not part of the build. The defaults are GPT-2 124M. One step is what a step
of triax is: forward, mean cross-entropy, backward, clipping by the global norm, AdamW with decay on matrices only.
PyTorch is run as well as it runs: fused attention and optimizer, gradients dropped rather than zeroed, and a
malloc that keeps its blocks (page faults of fresh activations cost it 20-30% of a step otherwise).

Prints one JSON line: seconds is the median over the timed steps, spread is (slowest - fastest) / median, and
resident_bytes is the peak resident set of the process, Python and PyTorch themselves included.
"""

import argparse
import contextlib
import ctypes
import json
import resource
import statistics
import time


def keep_freed_memory():
    """Has glibc serve large blocks from the heap and never give it back; elsewhere does nothing."""
    M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # malloc.h
    with contextlib.suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


keep_freed_memory()  # before PyTorch allocates

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.c_attn, self.attn_proj = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.c_fc, self.mlp_proj = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x):  # (B, T, C)
        qkv = self.c_attn(self.ln_1(x)).unflatten(-1, (3, self.heads, -1))  # (B, T, 3, H, D)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # (B, H, T, D) each
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn_proj(y.transpose(1, 2).flatten(2))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, layers, hidden, heads, vocab, positions):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, hidden), nn.Embedding(positions, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(hidden)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, tokens, labels):  # (B, T) each; returns the mean loss
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)  # tied
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def make_optimizer(model, kind):
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=6e-4, betas=(0.9, 0.95), eps=1e-8, **{kind: True})


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("layers", 12), ("hidden", 768), ("heads", 12), ("vocab", 50257), ("batch", 4), ("seq", 512),
                          ("threads", 1), ("steps", 5), ("warmup", 2)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32", help="bf16: autocast, float32 weights")
    parser.add_argument("--adamw", choices=("fused", "foreach"), default="fused")
    parser.add_argument("--compile", action="store_true", help="torch.compile (needs a C++ compiler)")
    arguments = parser.parse_args()
    if arguments.hidden % arguments.heads:
        parser.error("--hidden must be a multiple of --heads")
    if arguments.steps < 1:
        parser.error("--steps must be at least 1")
    return arguments


def main():
    a = parse_arguments()
    torch.set_num_threads(a.threads)
    torch.manual_seed(1234)
    model = Gpt2(a.layers, a.hidden, a.heads, a.vocab, a.seq)
    optimizer = make_optimizer(model, a.adamw)
    loss_of = torch.compile(model) if a.compile else model
    precision = torch.autocast("cpu", dtype=torch.bfloat16, enabled=a.dtype == "bf16")

    seconds = []
    for step in range(a.warmup + a.steps):
        sample = torch.randint(a.vocab, (a.batch, a.seq + 1))
        start = time.perf_counter()
        with precision:
            loss = loss_of(sample[:, :-1], sample[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss = loss.item()
        if step >= a.warmup:
            seconds.append(time.perf_counter() - start)

    median = statistics.median(seconds)
    case = f"gpt2 L{a.layers} C{a.hidden} H{a.heads} V{a.vocab} B{a.batch} T{a.seq} {a.dtype} threads {a.threads}"
    print(json.dumps({
        "benchmark": "pytorch_step",
        "case": case + (" compiled" if a.compile else ""),
        "seconds": median,
        "spread": (max(seconds) - min(seconds)) / median,
        "tokens_per_second": a.batch * a.seq / median,
        "resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "loss": loss,
        "pytorch": torch.__version__,
    }))


if __name__ == "__main__":
    main()
