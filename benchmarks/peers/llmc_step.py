#!/usr/bin/env python3
"""Steps of llm.c's C trainer (train_gpt2.c) on the start that all contestants share.

    llmc_step.py START SOURCE --batch 2 --seq 512

SOURCE is a checkout of llm.c; nothing in it is written. Its train_gpt2.c is compiled as its Makefile does (-Ofast,
-march=native, OpenMP) in START/llmc, with its constants replaced: batch, length, steps, no shuffling, no evaluation and
no generation in between. Its step does not clip the gradient. Needs NumPy and a C compiler; prints one JSON line like
pytorch_step.py.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import resource
import subprocess

import numpy as np
import start

MODEL_MAGIC, MODEL_VERSION, MODEL_HEADER = 20240326, 3, 256


def write_model(path, directory):
    """llm.c's float32 checkpoint: tensors of all layers stacked, matrices (outputs, inputs), the vocabulary padded."""
    config, tensors = start.read_config(directory), start.read_tensors(directory)
    layers, vocab = config["n_layer"], config["vocab_size"]
    padded = -(-vocab // 128) * 128
    header = np.zeros(MODEL_HEADER, np.int32)
    header[:8] = (MODEL_MAGIC, MODEL_VERSION, config["n_positions"], vocab, layers, config["n_head"],
                  config["n_embd"], padded)
    aside = path.with_suffix(".part")  # an interrupted write is not taken for a complete file
    with open(aside, "wb") as file:
        file.write(header.tobytes())
        file.write(np.pad(tensors["wte.weight"], ((0, padded - vocab), (0, 0))).tobytes())
        file.write(tensors["wpe.weight"].tobytes())
        for name in ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"):
            for part in ("weight", "bias"):
                for layer in range(layers):
                    file.write(np.ascontiguousarray(tensors[f"h.{layer}.{name}.{part}"].T).tobytes())
        file.write(tensors["ln_f.weight"].tobytes() + tensors["ln_f.bias"].tobytes())
    aside.rename(path)


def replaced(text, changes):
    for pattern, by in changes:
        text, count = re.subn(pattern, by, text)
        if count != 1:
            raise SystemExit(f"train_gpt2.c has {count} places like {pattern!r}: another version of llm.c?")
    return text


def build(folder, source, steps):
    """Builds the trainer for any batch and length (arguments 1 and 2), once per folder and source."""
    main = (source / "train_gpt2.c").read_text()
    main = replaced(main, ((r"int main\(\) \{", "int main(int argc, char** argv) {"),
                           (r"int B = 4;", "int B = atoi(argv[1]);"), (r"int T = 64;", "int T = atoi(argv[2]);"),
                           (r"(dataloader_init\(&train_loader, .*), 1\);", r"\1, 0);"),
                           (r"step <= 40;", f"step < {steps};"), (r"if \(step % 10 == 0\)", "if (0)"),
                           (r"if \(step > 0 && step % 20 == 0\)", "if (0)"),
                           (r"train loss %f", "train loss %.9g")))
    command = [os.environ.get("CC", "cc"), "-Ofast", "-march=native", "-fopenmp", "-DOMP", "-w", f"-I{source}",
               folder / "train_gpt2.c", "-lm", "-o"]
    headers = [file.read_text() for file in sorted((source / "llmc").glob("*.h"))]
    digest = hashlib.sha256("\0".join([main, *headers, *map(str, command)]).encode()).hexdigest()
    program = folder / f"train_gpt2-{steps}-{digest[:12]}"
    if not program.exists():
        (folder / "train_gpt2.c").write_text(main)
        aside = program.with_suffix(".part")
        subprocess.run([*command, aside], check=True)
        aside.rename(program)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("start", type=pathlib.Path, help="directory of start.py")
    parser.add_argument("source", type=pathlib.Path, help="checkout of llm.c")
    for name, default in (("batch", 2), ("seq", 512), ("threads", 1), ("steps", 2), ("warmup", 1)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    parser.add_argument("--case", default="")
    parser.add_argument("--program", default="llm.c")
    a = parser.parse_args()
    folder = a.start / "llmc"
    data = folder / "dev/data/tinyshakespeare"
    data.mkdir(parents=True, exist_ok=True)
    model = folder / "gpt2_124M.bin"
    if not model.exists() or model.stat().st_mtime < (a.start / "model.safetensors").stat().st_mtime:
        write_model(model, a.start)
    for name in ("train", "val"):  # the names that the trainer looks for
        link = data / f"tiny_shakespeare_{name}.bin"
        if not link.is_symlink():
            link.symlink_to((a.start / "tokens.bin").resolve())
    program = build(folder.resolve(), a.source.resolve(), a.warmup + a.steps)
    text = subprocess.run([program, str(a.batch), str(a.seq)], cwd=folder, check=True, capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": str(a.threads)}).stdout
    steps = re.findall(r"train loss (\S+) \(took (\S+) ms\)", text)
    timing = start.timing([float(milliseconds) / 1000 for _, milliseconds in steps[a.warmup :]])
    print(json.dumps({"benchmark": "step", "case": a.case or f"B={a.batch} T={a.seq} f32", **timing,
                      "tokens_per_second": a.batch * a.seq / timing["seconds"],
                      "peak_memory_bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
                      "cores": a.threads, "first_loss": float(steps[0][0]), "program": a.program}))


if __name__ == "__main__":
    main()
