#!/usr/bin/env python3
"""Writes quantized.json: codes, scales and decoded values of bitsandbytes, and of GPTQ and AWQ by NumPy from their published
formats, for tests/kernels/quant; and the model directories quantized/* for tests/state/weights/quantized.

For developers only: neither the program nor its tests run this. It needs bitsandbytes, PyTorch, transformers and NumPy; the
files were made with bitsandbytes 0.50.2, backend "default". GPTQ and AWQ are packed here as AutoGPTQ 0.7.1 and AutoAWQ 0.2.9
pack them.
"""

import json
import shutil
import tempfile
from pathlib import Path

import bitsandbytes.functional as bnb
import numpy as np
import torch
import transformers
from safetensors import safe_open
from safetensors.numpy import save_file

HERE = Path(__file__).parent


def values(n, seed=0):
    """Exact in float32, of sizes from 2^-5 to 1, as is the test's."""
    i = np.arange(n, dtype=np.int64)
    mantissa = (1237 * i + 4099 * seed * seed + 31 * i * seed) % 8191 - 4095
    return (mantissa / 4096 * 2.0 ** -((i // 7 + seed) % 6)).astype(np.float32)


def text(array):
    """Bytes in hexadecimal."""
    return np.ascontiguousarray(array).tobytes().hex()


def four_bit(kind, n, group):
    x = values(n, 1)
    if n > 200:
        x[group : 2 * group] = 0  # a group of zeros
    q, state = torch.ops.bitsandbytes.quantize_4bit.default(torch.from_numpy(x), group, kind, torch.uint8)
    code = bnb.get_4bit_type(kind, device="cpu").numpy()
    nibbles = np.stack([q.numpy().reshape(-1) >> 4, q.numpy().reshape(-1) & 15], 1).reshape(-1)[:n]
    decoded = code[nibbles] * np.repeat(state.numpy(), group)[:n]
    quant_state = bnb.QuantState(state, torch.Size([1, n]), None, group, kind, torch.float32)
    theirs = bnb.dequantize_4bit(q, quant_state).numpy().reshape(-1)
    assert np.abs(theirs - decoded).max() <= (0 if kind == "nf4" else 6e-8), kind
    return {"type": kind, "n": n, "group": group, "codes": text(q.numpy().reshape(-1)), "scales": text(state.numpy()),
            "decoded": text(decoded) if n < 400 else ""}


def nested(n):
    scales = np.abs(values(n, 2)) + np.float32(0.01)
    offset = np.float32(np.mean(scales.astype(np.float64)))
    code = bnb.create_dynamic_map()
    less = torch.from_numpy(scales - offset)
    bounds = (code[:-1] + code[1:]) / 2
    groups = torch.nn.functional.pad(less, (0, -n % 256)).reshape(-1, 256)
    outer = groups.abs().max(1).values
    q = torch.bucketize(groups / outer[:, None], bounds).to(torch.uint8).reshape(-1)[:n]
    decoded = torch.ops.bitsandbytes.dequantize_blockwise.default(q, outer, code, 256, torch.float32) + offset
    return {"n": n, "offset": float(offset), "codes": text(q.numpy()), "outer": text(outer.numpy()),
            "decoded": text(decoded.numpy())}


def int8(rows, columns):
    x = torch.from_numpy(values(rows * columns, 3).reshape(rows, columns)).to(torch.float16)
    x[1] = 0
    q, scales, _ = bnb.int8_vectorwise_quant(x)
    decoded = bnb.int8_vectorwise_dequant(q, scales)
    return {"rows": rows, "columns": columns, "codes": text(q.numpy()), "scales": text(scales.numpy()),
            "decoded": text(decoded.numpy())}


def pack(fields, bits):
    """Fields along axis 0 in 32-bit words, as one stream of bits."""
    count, columns = fields.shape
    stream = np.zeros(((count * bits + 31) // 32 * 32, columns), np.uint64)
    for b in range(bits):
        stream[np.arange(count) * bits + b] = (fields.astype(np.uint64) >> b) & 1
    words = (stream.reshape(-1, 32, columns) << np.arange(32, dtype=np.uint64)[None, :, None]).sum(1)
    return words.astype(np.uint32).view(np.int32)


def fields(bits, rows, columns):
    i = np.arange(rows * columns, dtype=np.int64)
    return ((i * 2654435761 >> 7) % (1 << bits)).reshape(rows, columns)


def bit_fields(bits):
    f = fields(bits, 64, 24)
    return {"bits": bits, "down": text(pack(f, bits)), "across": text(pack(f.T, bits).T)}


AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def pack_awq(f):
    f = f.reshape(f.shape[0], -1, 8).astype(np.uint64)
    words = np.zeros(f.shape[:2], np.uint64)
    for k, column in enumerate(AWQ_ORDER):
        words |= f[:, :, column] << np.uint64(4 * k)
    return words.astype(np.uint32).view(np.int32)


LLAMA = {"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
         "hidden_size": 64, "intermediate_size": 96, "vocab_size": 64, "max_position_embeddings": 32,
         "tie_word_embeddings": False}
GPT2 = {"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16, "n_positions": 32, "vocab_size": 64}


def hash_of(array):
    """FNV-1a of the float32 bytes."""
    return bytes_hash(np.ascontiguousarray(array, dtype=np.float32))


def bytes_hash(array):
    h = 0xCBF29CE484222325
    for byte in array.tobytes():
        h = ((h ^ byte) * 0x100000001B3) % 2**64
    return f"{h:016x}"


def decoded_4bit(weight):
    """What bitsandbytes means. Its decoder for CPUs (0.50.2) is right where whole blocks make up a row."""
    state = weight.quant_state
    absmax = state.absmax
    if state.nested:
        absmax = bnb.dequantize_blockwise(absmax, state.state2) + state.offset
    bytes_ = weight.data.view(torch.uint8).numpy().reshape(-1)
    nibbles = np.stack([bytes_ >> 4, bytes_ & 15], 1).reshape(-1)[: state.shape.numel()]
    code = bnb.get_4bit_type(state.quant_type, device="cpu").numpy()
    value = torch.from_numpy(code[nibbles] * np.repeat(absmax.numpy(), state.blocksize)[: len(nibbles)])
    value = value.reshape(state.shape).to(state.dtype)
    if state.shape[1] % state.blocksize == 0:
        assert (value.float() - bnb.dequantize_4bit(weight.data, state).float()).abs().max() <= 1e-7
    return value


def with_bitsandbytes(name, config, dtype, **options):
    """A directory by transformers' save_pretrained; its decoded weights by bitsandbytes."""
    torch.manual_seed(5)
    config = transformers.AutoConfig.for_model(**config)
    with tempfile.TemporaryDirectory() as base:
        transformers.AutoModelForCausalLM.from_config(config).to(dtype).save_pretrained(base)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            base, dtype=dtype, quantization_config=transformers.BitsAndBytesConfig(**options), device_map="cpu")
    out = HERE / "quantized" / name
    shutil.rmtree(out, ignore_errors=True)
    model.save_pretrained(out)
    (out / "generation_config.json").unlink(missing_ok=True)
    decoded = {}
    for module_name, module in model.named_modules():
        weight = getattr(module, "weight", None)
        if getattr(weight, "quant_state", None) is not None:
            value = decoded_4bit(weight)
        elif hasattr(weight, "SCB") and weight.data.dtype == torch.int8:
            value = bnb.int8_vectorwise_dequant(weight.data, weight.SCB)
        else:
            continue
        value = value.float().detach().numpy()
        decoded[module_name + ".weight"] = hash_of(value.T if config.model_type == "gpt2" else value)
    (out / "decoded.json").write_text(json.dumps(decoded, indent=1) + "\n")


def packed_module(x, quantization, rng):
    """Tensors of a Linear [out, in] by round to nearest, and what they decode to."""
    outputs, inputs = x.shape
    bits, group, awq = quantization["bits"], quantization["group_size"], quantization["quant_method"] == "awq"
    most, groups = (1 << bits) - 1, -(-inputs // group)
    g_idx = np.arange(inputs) // group
    if quantization.get("desc_act"):
        g_idx = rng.permutation(g_idx)
    scales, zeros = np.zeros((groups, outputs), np.float16), np.zeros((groups, outputs), np.int64)
    for g in range(groups):
        part = x[:, g_idx == g]
        if quantization.get("sym"):
            scales[g] = 2 * np.abs(part).max(1) / most
            zeros[g] = (most + 1) // 2
        else:
            low, high = np.minimum(part.min(1), 0), np.maximum(part.max(1), 0)
            scales[g] = (high - low) / most
            zeros[g] = np.clip(np.round(-low / scales[g].astype(np.float32)), 1, most)
    s, z = scales.astype(np.float32)[g_idx].T, zeros[g_idx].T
    q = np.clip(np.round(x / s) + z, 0, most).astype(np.int64)
    decoded = (q - z).astype(np.float32) * s
    if awq:
        tensors = {"qweight": pack_awq(q.T), "qzeros": pack_awq(zeros), "scales": scales}
    else:
        less = 0 if quantization["checkpoint_format"] == "gptq_v2" else 1
        tensors = {"qweight": pack(q.T, bits), "qzeros": pack((zeros - less).T, bits).T, "scales": scales,
                   "g_idx": g_idx.astype(np.int32)}
    return {k: np.ascontiguousarray(v) for k, v in tensors.items()}, decoded


def packed_directory(name, **quantization):
    rng = np.random.default_rng(7)
    torch.manual_seed(5)
    model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**LLAMA))
    tensors, decoded = {}, {}
    for key, value in model.state_dict().items():
        value = value.float().numpy()
        if "proj" not in key:
            tensors[key] = value.astype(np.float16)
            continue
        parts, decoded_value = packed_module(value, quantization, rng)
        decoded[key] = hash_of(decoded_value)
        tensors |= {key.removesuffix("weight") + part: array for part, array in parts.items()}
    out = HERE / "quantized" / name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
    (out / "config.json").write_text(json.dumps(LLAMA | {"quantization_config": quantization}, indent=1) + "\n")
    (out / "decoded.json").write_text(json.dumps(decoded, indent=1) + "\n")


def made(base, **options):
    """Hashes of the tensors that transformers and bitsandbytes make of a golden directory."""
    model = transformers.AutoModelForCausalLM.from_pretrained(
        HERE / base, dtype=torch.float32, quantization_config=transformers.BitsAndBytesConfig(**options), device_map="cpu")
    with tempfile.TemporaryDirectory() as out:
        model.save_pretrained(out)
        with safe_open(Path(out) / "model.safetensors", "pt") as file:
            return {name: [file.get_slice(name).get_dtype(), file.get_slice(name).get_shape(),
                           bytes_hash(file.get_tensor(name).contiguous().view(torch.uint8).numpy()
                                      if file.get_slice(name).get_shape() else file.get_tensor(name).numpy())]
                    for name in file.keys()}


def directories():
    four = {"load_in_4bit": True}
    formats = {"nf4": four | {"bnb_4bit_quant_type": "nf4"}, "fp4": four, "int8": {"load_in_8bit": True},
               "nf4-double": four | {"bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True}}
    all_made = {base: {name: made(base, **options) for name, options in formats.items()}
                for base in ("llama-tiny", "gpt2-tiny")}
    (HERE / "quantized" / "made.json").write_text(json.dumps(all_made) + "\n")
    with_bitsandbytes("nf4", LLAMA, torch.bfloat16, **four, bnb_4bit_quant_type="nf4")
    with_bitsandbytes("nf4-double", LLAMA, torch.bfloat16, **four, bnb_4bit_quant_type="nf4",
                      bnb_4bit_use_double_quant=True, bnb_4bit_quant_storage=torch.bfloat16)
    with_bitsandbytes("fp4", LLAMA, torch.float16, **four)
    with_bitsandbytes("int8", LLAMA, torch.float16, load_in_8bit=True)
    with_bitsandbytes("gpt2-nf4", GPT2, torch.float32, **four, bnb_4bit_quant_type="nf4")
    gptq = {"quant_method": "gptq", "checkpoint_format": "gptq", "desc_act": False, "sym": True}
    packed_directory("gptq", bits=4, group_size=16, **gptq)
    packed_directory("gptq-reordered", bits=4, group_size=8, **gptq | {"desc_act": True, "sym": False})
    packed_directory("gptq-3-bits", bits=3, group_size=16, **gptq | {"checkpoint_format": "gptq_v2"})
    packed_directory("gptq-8-bits", bits=8, group_size=32, **gptq)
    packed_directory("gptq-2-bits", bits=2, group_size=16, **gptq | {"sym": False})
    packed_directory("awq", bits=4, group_size=16, quant_method="awq", version="gemm", zero_point=True)


def main():
    golden = {
        "four_bit": [four_bit(kind, n, group) for kind in ("nf4", "fp4")
                     for n, group in ((1024, 64), (333, 64), (300, 32), (2048, 1024))],
        "nested": [nested(n) for n in (700, 256)],
        "int8": int8(7, 37),
        "bit_fields": [bit_fields(bits) for bits in (2, 3, 4, 8)],
        "awq": text(pack_awq(fields(4, 64, 24))),
    }
    (HERE / "quantized.json").write_text(json.dumps(golden, indent=1) + "\n")
    directories()


if __name__ == "__main__":
    main()
