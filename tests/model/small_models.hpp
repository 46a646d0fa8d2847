// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models small enough for double-precision loops.
#include "src/config/config.hpp"

namespace triax::test {

inline ModelConfig small_model(const std::string& architecture) {
  ModelConfig model;
  model.architecture = architecture;
  model.layers = 2;
  model.heads = 4;
  model.kv_heads = architecture == "gpt2" ? 4 : 2;
  model.head_size = 4;
  model.hidden = 12;  // not heads x head size
  if (architecture == "gpt2") model.hidden = 16;
  model.intermediate = 10;
  model.positions = 9;
  model.vocabulary = 21;
  model.tied_embeddings = false;
  model.qkv_bias = architecture != "llama";
  model.attention_output_bias = model.mlp_bias = architecture == "gpt2";
  return model;
}

}  // namespace triax::test
