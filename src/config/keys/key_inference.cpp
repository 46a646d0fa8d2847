// SPDX-License-Identifier: Apache-2.0
#include "src/config/keys/key_inference.hpp"

#include <utility>

namespace triax {
namespace {
using enum KeyType;
}  // namespace

std::vector<Key> inference_keys() {
  std::vector<Key> k;
  const std::string p = "inference.";
  k.push_back(obeyed(
      p + "weights", string, "auto",
      one_of({"auto", "f32", "bf16", "f16", "nf4", "nf4-double", "int8"}),
      "type of the weights in memory, which each step reads. auto: the 16-bit type of the files, "
      "with the same results, else f32; bf16, f16: others are rounded; nf4, nf4-double, int8: the "
      "linear maps of blocks are quantized"));
  k.push_back(
      obeyed(p + "cache_dtype", string, "f32", one_of({"f32", "bf16"}),
             "type of the KV cache: bf16 takes half the memory, and rounds keys and values"));
  Key tokens = obeyed(p + "block_tokens", integer, 16, from_to(16, 128),
                      "tokens per block of the KV cache: 16, 32, 64 or 128; equal beginnings of "
                      "texts are shared in whole blocks")
                   .in("tokens");
  k.push_back(std::move(tokens));
  k.push_back(obeyed(p + "memory_fraction", number, 0.9, from_to(0.01, 1.0),
                     "share of the memory beside the weights that activations and KV cache may "
                     "take; the cache takes no more than `sequences` texts of the whole context"));
  k.push_back(obeyed(p + "tokens_per_step", integer, 2048, from_to(1, 1e6),
                     "most tokens that one step computes, of all texts: the next token of each, "
                     "then parts of prompts")
                  .in("tokens"));
  k.push_back(obeyed(p + "sequences", integer, 256, from_to(1, 65536),
                     "most texts that are computed at once; the others wait")
                  .in("texts"));
  k.push_back(obeyed(p + "prefix_cache", boolean, true, anything(),
                     "texts share the KV cache of equal beginnings"));
  k.push_back(obeyed(p + "speculate", string, "none", one_of({"none", "ngram"}),
                     "guess tokens that a step checks together: ngram takes what followed the same "
                     "tokens earlier in the text; the texts stay the same"));
  k.push_back(obeyed(p + "guesses", integer, 4, from_to(1, 64),
                     "most tokens guessed per text and step, with `speculate`")
                  .in("tokens"));
  return k;
}

}  // namespace triax
