#!/usr/bin/env python3
"""The common start of all contestants: one model's weights and one shard of tokens, so that every first loss is the same.

    start.py DIR [--layers 12 --hidden 768 --heads 12 --vocab 50257 --positions 1024] [--tokens N]

writes DIR/config.json and DIR/model.safetensors (GPT-2 as Hugging Face names and lays it out: matrices are (inputs,
outputs)), and DIR/tokens.bin (llm.c's shard: 256 int32 of header, uint16 tokens). Needs NumPy. The contestants' scripts
read it with `read_tensors` and `read_tokens`, and report their steps with `timing`.
"""

import argparse
import json
import pathlib
import struct

import numpy as np

SHARD_MAGIC, SHARD_VERSION, SHARD_HEADER = 20240520, 1, 256


def make_tensors(layers, hidden, vocab, positions):
    """GPT-2's initialisation: normals of 0.02, a residual projection's divided by sqrt(2 layers); float32."""
    generator = np.random.default_rng(1234)

    def normal(*shape, scale=0.02):
        return (generator.standard_normal(shape, dtype=np.float32) * np.float32(scale)).astype(np.float32)

    projection = 0.02 / (2 * layers) ** 0.5
    tensors = {"wte.weight": normal(vocab, hidden), "wpe.weight": normal(positions, hidden)}
    for layer in range(layers):
        name = f"h.{layer}."
        for norm in ("ln_1", "ln_2"):
            tensors[name + norm + ".weight"] = np.ones(hidden, np.float32)
            tensors[name + norm + ".bias"] = np.zeros(hidden, np.float32)
        for matrix, inputs, outputs, scale in (("attn.c_attn", hidden, 3 * hidden, 0.02),
                                               ("attn.c_proj", hidden, hidden, projection),
                                               ("mlp.c_fc", hidden, 4 * hidden, 0.02),
                                               ("mlp.c_proj", 4 * hidden, hidden, projection)):
            tensors[name + matrix + ".weight"] = normal(inputs, outputs, scale=scale)
            tensors[name + matrix + ".bias"] = np.zeros(outputs, np.float32)
    tensors["ln_f.weight"], tensors["ln_f.bias"] = np.ones(hidden, np.float32), np.zeros(hidden, np.float32)
    return tensors


def write_safetensors(path, tensors):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [offset, offset + tensor.nbytes]}
        offset += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.tobytes())


def read_tensors(directory):
    """Name -> float32 array of the directory's model.safetensors."""
    data = np.memmap(pathlib.Path(directory) / "model.safetensors", mode="r")
    (length,) = struct.unpack("<Q", data[:8].tobytes())
    header = json.loads(data[8 : 8 + length].tobytes())
    header.pop("__metadata__", None)
    if any(entry["dtype"] != "F32" for entry in header.values()):
        raise SystemExit(f"{directory}/model.safetensors is not float32")
    body = data[8 + length :]
    return {name: body[slice(*entry["data_offsets"])].view(np.float32).reshape(entry["shape"])
            for name, entry in header.items()}


def read_config(directory):
    return json.loads((pathlib.Path(directory) / "config.json").read_text())


def read_tokens(path):
    """The shard's tokens, as int64."""
    return np.fromfile(path, dtype=np.uint16, offset=4 * SHARD_HEADER).astype(np.int64)


def write_tokens(path, count, vocab):
    header = np.zeros(SHARD_HEADER, np.int32)
    header[:3] = SHARD_MAGIC, SHARD_VERSION, count
    tokens = np.random.default_rng(4321).integers(min(vocab, 65536), size=count, dtype=np.uint16)
    with open(path, "wb") as file:
        file.write(header.tobytes() + tokens.tobytes())


def timing(seconds):
    """Median and spread of timed steps, as in benchmarks/support/report (spread: distance of the interpolated
    quartiles over the median), and whether the system grants huge pages."""
    low, median, high = (float(x) for x in np.quantile(seconds, (0.25, 0.5, 0.75)))
    try:
        text = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
        pages = {"huge_pages": text[text.index("[") + 1 : text.index("]")]}
    except (OSError, ValueError):
        pages = {}
    return {"seconds": median, "spread": (high - low) / median, **pages}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    for name, default in (("layers", 12), ("hidden", 768), ("heads", 12), ("vocab", 50257), ("positions", 1024),
                          ("tokens", 1 << 20)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    a = parser.parse_args()
    a.directory.mkdir(parents=True, exist_ok=True)
    write_safetensors(a.directory / "model.safetensors", make_tensors(a.layers, a.hidden, a.vocab, a.positions))
    write_tokens(a.directory / "tokens.bin", a.tokens, a.vocab)
    config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": a.layers, "n_head": a.heads,
              "n_embd": a.hidden, "n_positions": a.positions, "vocab_size": a.vocab, "activation_function": "gelu_new",
              "embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0, "tie_word_embeddings": True}
    (a.directory / "config.json").write_text(json.dumps(config, indent=1) + "\n")


if __name__ == "__main__":
    main()
