"""The files of a golden case: safetensors in float32, llm.c token shards, JSON."""

import json
import struct
from array import array

import torch


def read_safetensors(path):
    data = path.read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    weights = {}
    for name, entry in header.items():
        if entry["dtype"] != "F32":
            raise SystemExit(f"{path}: {name} is {entry['dtype']}, not F32")
        begin, end = (start + offset for offset in entry["data_offsets"])
        weights[name] = torch.tensor(array("f", data[begin:end])).reshape(entry["shape"])
    return weights


def write_safetensors(path, weights):
    header, offset, body = {}, 0, []
    for name, w in weights.items():
        size = 4 * w.numel()
        header[name] = {"dtype": "F32", "shape": list(w.shape), "data_offsets": [offset, offset + size]}
        body.append(array("f", w.flatten().tolist()).tobytes())
        offset += size
    text = json.dumps(header | {"__metadata__": {"format": "pt"}}).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(body))


SHARD_MAGIC, SHARD_VERSION, SHARD_HEADER = 20240520, 1, 256  # llm.c: 256 int32, then uint16 tokens


def read_tokens(path):
    data = path.read_bytes()
    magic, version, count = struct.unpack("<3i", data[:12])
    tokens = array("H", data[4 * SHARD_HEADER:])
    if (magic, version, count) != (SHARD_MAGIC, SHARD_VERSION, len(tokens)):
        raise SystemExit(f"{path}: not a whole llm.c shard")
    return torch.tensor(tokens, dtype=torch.long)


def write_tokens(path, tokens):
    header = struct.pack(f"<{SHARD_HEADER}i", SHARD_MAGIC, SHARD_VERSION, len(tokens), *[0] * (SHARD_HEADER - 3))
    path.write_bytes(header + array("H", tokens.tolist()).tobytes())


def read_json(path):
    return json.loads(path.read_text())


def write_json(path, value, indent=1):
    path.write_text(json.dumps(value, indent=indent) + "\n")
