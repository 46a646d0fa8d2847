#!/usr/bin/env python3
"""A GPT-2 training step in PyTorch: the peer that benchmarks/step is compared with.

    pytorch_step.py START --batch 2 --seq 512 [--compile] [--strategy ddp|fsdp|deepspeed, under mpiexec]
    pytorch_step.py START --device cuda --dtype bf16 --compile --batch 16 --seq 1024
    pytorch_step.py --model gpt2-1.5b --device cuda --dtype bf16 --compile blocks --batch 8 --seq 1024

START is a directory made by start.py: weights and tokens are the same as triax's, and so is the first loss. One step
does the work of a step of triax: forward, mean cross-entropy, backward, clipping by the global norm, AdamW with decay
on matrices only. PyTorch gets its fastest settings: fused attention and optimizer, gradients dropped rather than
zeroed, and a malloc that keeps its blocks (page faults of fresh activations cost it 20-30% of a step otherwise).
--defaults keeps malloc, the optimizer's loop and the zeroing of gradients at their defaults.

Needs PyTorch 1.13 or later (--compile: 2.0, --strategy fsdp: 2.6), NumPy, for --strategy deepspeed DeepSpeed; it is not
part of the build. Ranks of a --strategy are those of mpiexec (MPICH's, Open MPI's) or srun and talk over gloo on this
node; --batch is over all ranks.

On a GPU (one, without --strategy) steps are timed by CUDA events, and each step is waited for, as in triax. The first
--warmup steps, which compile, are not counted.

Prints one JSON line: seconds is the median over the timed steps, spread is (third quartile - first) / median, and
peak_memory_bytes is the peak resident set of a process (the largest rank's), Python and PyTorch included; on a GPU
device_bytes is the most that PyTorch has reserved of its memory.
"""

import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import resource
import sys
import time


def keep_freed_memory():
    """Has glibc serve large blocks from the heap and never give it back; elsewhere does nothing."""
    M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # malloc.h
    with contextlib.suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


if "--defaults" not in sys.argv:
    keep_freed_memory()  # before PyTorch allocates

import start  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402


SHAPES = {"gpt2-124m": (12, 768, 12), "gpt2-350m": (24, 1024, 16), "gpt2-1.5b": (48, 1600, 25)}


def attention(q, k, v):  # (B, H, T, D) each
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5  # PyTorch 1
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(future, float("-inf")).softmax(-1) @ v


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
        x = x + self.attn_proj(attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))

    def tensors(self):
        """Hugging Face's names under h.N. -> parameter, and whether the file has it transposed."""
        for name, module in (("ln_1", self.ln_1), ("attn.c_attn", self.c_attn), ("attn.c_proj", self.attn_proj),
                             ("ln_2", self.ln_2), ("mlp.c_fc", self.c_fc), ("mlp.c_proj", self.mlp_proj)):
            yield name + ".weight", module.weight, isinstance(module, nn.Linear)
            yield name + ".bias", module.bias, False


class Gpt2(nn.Module):
    def __init__(self, config):
        super().__init__()
        hidden = config["n_embd"]
        self.wte = nn.Embedding(config["vocab_size"], hidden)
        self.wpe = nn.Embedding(config["n_positions"], hidden)
        self.blocks = nn.ModuleList(Block(hidden, config["n_head"]) for _ in range(config["n_layer"]))
        self.ln_f = nn.LayerNorm(hidden)

    @torch.no_grad()
    def load(self, tensors):
        for name, module in (("wte", self.wte), ("wpe", self.wpe), ("ln_f", self.ln_f)):
            for key, parameter in module.named_parameters():
                parameter.copy_(torch.tensor(tensors[f"{name}.{key}"]))
        for layer, block in enumerate(self.blocks):
            for name, parameter, transposed in block.tensors():
                tensor = torch.tensor(tensors[f"h.{layer}.{name}"])
                parameter.copy_(tensor.T if transposed else tensor)
        return self

    def forward(self, tokens, labels):  # (B, T) each; returns the mean loss
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.loss(x, labels)

    def loss(self, x, labels):
        logits = F.linear(self.ln_f(x), self.wte.weight)  # tied
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def make_optimizer(model, **how):  # fused, foreach, or the version's choice
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=6e-4, betas=(0.9, 0.95), eps=1e-8, **how)


def at_least(*version):
    return tuple(int(n) for n in torch.__version__.split(".")[:2]) >= version


def best_loop(device):
    """Fastest settings of AdamW: fused, which the CPU has since PyTorch 2.4."""
    return {"fused" if device == "cuda" or at_least(2, 4) else "foreach": True}


class HostClock:
    """Seconds of a step on the CPU, which is complete when the call returns."""

    def begin(self):
        self.start = time.perf_counter()

    def end(self):
        return time.perf_counter() - self.start


class CudaClock:
    """Seconds of a step on a GPU, between two events on its stream."""

    def __init__(self):
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def begin(self):
        self.events[0].record()

    def end(self):
        self.events[1].record()
        self.events[1].synchronize()
        return 1e-3 * self.events[0].elapsed_time(self.events[1])


class Plain:
    """The step of a single process, or of each process of DDP or FSDP."""

    def __init__(self, model, a):
        self.model = model
        if a.strategy == "ddp":
            # Gradients are views of the buffers that are sent, which saves a copy.
            self.model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=not a.defaults)
        elif a.strategy == "fsdp":
            from torch.distributed.fsdp import fully_shard

            for block in model.blocks:
                fully_shard(block)
            fully_shard(model)
        self.clipping = {"foreach": True} if at_least(2, 0) and not a.defaults else {}
        self.optimizer = make_optimizer(self.model, **({} if a.defaults else best_loop(a.device)))
        self.zeroing = {} if a.defaults else {"set_to_none": True}
        if a.compile == "blocks":
            for block in model.blocks:
                block.compile()
            model.loss = torch.compile(model.loss)
        self.loss_of = torch.compile(self.model) if a.compile == "model" else self.model

    def step(self, tokens, labels):
        loss = self.loss_of(tokens, labels)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0, **self.clipping)
        self.optimizer.step()
        self.optimizer.zero_grad(**self.zeroing)
        return loss


class DeepSpeed:
    """ZeRO-1 with PyTorch's AdamW."""

    def __init__(self, model, a):
        import deepspeed

        config = {"train_micro_batch_size_per_gpu": a.batch // ranks(), "gradient_clipping": 1.0,
                  "zero_optimization": {"stage": 1}, "bf16": {"enabled": a.dtype != "f32"}}
        self.engine, *_ = deepspeed.initialize(model=model, config=config, 
                                               optimizer=make_optimizer(model, **best_loop(a.device)),
                                               dist_init_required=False)

    def step(self, tokens, labels):
        loss = self.engine(tokens, labels)
        self.engine.backward(loss)
        self.engine.step()
        return loss


def launched():
    """Rank and number of ranks from the launcher; 0 and 1 for a single process."""
    # Slurm's number of processes in a job step; a batch script, which is in no step of its own, does not have it.
    for names in (("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
                  ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")):
        if all(name in os.environ for name in names):
            return tuple(int(os.environ[name]) for name in names)
    return 0, 1


def rank():
    return launched()[0]


def ranks():
    return launched()[1]


def join_ranks():
    for name, value in (("RANK", rank()), ("WORLD_SIZE", ranks()), ("LOCAL_RANK", rank()),
                        ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", 29531), ("DS_ACCELERATOR", "cpu")):
        os.environ.setdefault(name, str(value))
    dist.init_process_group("gloo")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    parser.add_argument("start", type=pathlib.Path, nargs="?", help="directory of start.py")
    parser.add_argument("--model", choices=SHAPES, help="random weights and tokens of this shape, in place of START")
    for name, default in (("batch", 2), ("seq", 512), ("threads", 1), ("steps", 5), ("warmup", 1)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    parser.add_argument("--dtype", choices=("f32", "bf16", "bf16-weights"), default="f32",
                        help="bf16: autocast of float32 weights; bf16-weights: everything, AdamW's moments too")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--compile", nargs="?", const="model", choices=("model", "blocks"),
                        help="torch.compile (needs a C++ compiler); blocks: one block for all, and the loss, which takes a "
                             "deep model's compilation from minutes to seconds")
    parser.add_argument("--defaults", action="store_true",
                        help="malloc, optimizer loop and zeroing of gradients as they come, not as they run best")
    parser.add_argument("--strategy", choices=("none", "ddp", "fsdp", "deepspeed"), default="none")
    parser.add_argument("--ranks", type=int, help="of the strategy: refuse where the launcher says another number")
    parser.add_argument("--case", default="", help="name of the case in the line")
    parser.add_argument("--program", default="pytorch")
    a = parser.parse_args()
    if (a.start is None) == (a.model is None):
        parser.error("give either START or --model")
    if a.steps < 1 or a.batch % ranks() != 0:
        parser.error("--steps must be at least 1, --batch a multiple of the ranks")
    if a.ranks and a.ranks != ranks():
        parser.error(f"--ranks {a.ranks}, but the launcher's variables (PMI_, OMPI_COMM_WORLD_, SLURM_) say {ranks()}")
    if a.strategy == "fsdp" and not at_least(2, 6):
        parser.error(f"--strategy fsdp needs PyTorch 2.6, this is {torch.__version__}")
    if a.strategy == "none" and ranks() > 1:
        parser.error(f"{ranks()} ranks without a --strategy")
    if a.defaults and a.strategy == "deepspeed":
        parser.error("--defaults leaves the optimizer as it comes, and --strategy deepspeed is given one")
    if a.device == "cuda" and a.strategy != "none":
        parser.error("--device cuda is for one GPU, without --strategy")
    if a.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit(f"pytorch_step.py: --device cuda, and this PyTorch ({torch.__version__}) finds no GPU: run it "
                         "where nvidia-smi shows one, with a PyTorch built for CUDA")
    return a


def random_start(a):
    """GPT-2's initialisation on the device; start.py and a file would take minutes."""
    layers, hidden, heads = SHAPES[a.model]
    with torch.device(a.device):
        model = Gpt2({"n_layer": layers, "n_embd": hidden, "n_head": heads, "n_positions": 1024, "vocab_size": 50257})
    for parameter in model.parameters():
        if parameter.dim() >= 2:
            nn.init.normal_(parameter, std=0.02)
    return model, torch.randint(50257, (a.batch * a.seq * (a.warmup + a.steps) + 1,))


def main():
    a = parse_arguments()
    torch.set_num_threads(a.threads)
    if a.strategy != "none":
        join_ranks()
    if a.model:
        model, tokens = random_start(a)
    else:
        model = Gpt2(start.read_config(a.start)).load(start.read_tensors(a.start))
        tokens = torch.from_numpy(start.read_tokens(a.start / "tokens.bin"))
    if a.dtype == "bf16-weights":
        model = model.bfloat16()
    model = model.to(a.device)
    trainer = DeepSpeed(model, a) if a.strategy == "deepspeed" else Plain(model, a)
    autocast = torch.autocast(a.device, dtype=torch.bfloat16, enabled=a.dtype == "bf16" and a.strategy != "deepspeed")
    if a.device == "cuda":
        tokens = tokens.pin_memory()
    clock = CudaClock() if a.device == "cuda" else HostClock()

    seconds, losses, mine = [], [], a.batch // ranks()
    for step in range(a.warmup + a.steps):
        first = (step * a.batch + rank() * mine) * a.seq
        window = tokens[first : first + mine * a.seq + 1]
        clock.begin()
        window = window.to(a.device, non_blocking=True)
        with autocast:
            loss = trainer.step(window[:-1].view(mine, a.seq), window[1:].view(mine, a.seq)).detach()
        if a.strategy != "none":
            dist.all_reduce(loss)
        losses.append(loss.item() / ranks())
        taken = clock.end()
        if step >= a.warmup:
            seconds.append(taken)

    memory = torch.tensor(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    if a.strategy != "none":
        dist.all_reduce(memory, dist.ReduceOp.MAX)
        dist.destroy_process_group()
    if rank() == 0:
        timing = start.timing(seconds)
        on_gpu = {"device_bytes": torch.cuda.max_memory_reserved()} if a.device == "cuda" else {}
        print(json.dumps({"benchmark": "step", "case": a.case or f"B={a.batch} T={a.seq} {a.dtype}", **timing,
                          "tokens_per_second": a.batch * a.seq / timing["seconds"],
                          "peak_memory_bytes": memory.item(),
                          "cores": ranks() * a.threads, "first_loss": losses[0], "program": a.program,
                          "version": torch.__version__, **on_gpu}))


if __name__ == "__main__":
    main()
