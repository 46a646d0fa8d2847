// SPDX-License-Identifier: Apache-2.0
#pragma once
// The block of Llama, which its relatives change in some places.
#include "src/model/families/block_spec.hpp"

namespace triax::families {

inline constexpr BlockSpec llama_block = {
    .outside = {.base = "model.",
                .token_embedding = "model.embed_tokens.weight",
                .final_norm = "model.norm",
                .head = "lm_head.weight"},
    .names = {.block = "model.layers.",
              .attention_norm = "input_layernorm",
              .mlp_norm = "post_attention_layernorm",
              .qkv = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
              .attention_output = "self_attn.o_proj",
              .mlp_input = {"mlp.gate_proj", "mlp.up_proj"},
              .mlp_output = "mlp.down_proj"}};

/// llama_block with its changes.
template <class Change>
constexpr BlockSpec llama_block_with(Change change) {
  BlockSpec block = llama_block;
  change(block);
  return block;
}

}  // namespace triax::families
