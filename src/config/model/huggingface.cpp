// SPDX-License-Identifier: Apache-2.0
#include "src/config/model/huggingface.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "src/config/keys/key_table.hpp"
#include "src/config/model/rope_scaling.hpp"

namespace triax {
namespace {
using nlohmann::ordered_json;

// The shortest decimal that reads back as the same float: 1e-05, not 9.99999974737875e-06.
ordered_json shortest(float value) {
  return ordered_json::parse(fmt::format("{}", value));
}

ordered_json gpt2(const ModelConfig& m) {
  return {{"architectures", ordered_json::array({"GPT2LMHeadModel"})},
          {"model_type", "gpt2"},
          {"n_layer", m.layers},
          {"n_head", m.heads},
          {"n_embd", m.hidden},
          {"n_inner", m.intermediate},
          {"n_positions", m.positions},
          {"vocab_size", m.vocabulary},
          {"layer_norm_epsilon", shortest(m.norm_epsilon)},
          {"activation_function", "gelu_new"},
          {"embd_pdrop", shortest(m.embedding_dropout)},
          {"attn_pdrop", shortest(m.attention_dropout)},
          {"resid_pdrop", shortest(m.residual_dropout)}};
}

ordered_json llama(const ModelConfig& m) {
  const bool is_llama = m.architecture == Architecture::llama;
  ordered_json j = {
      {"architectures", ordered_json::array({is_llama ? "LlamaForCausalLM" : "Qwen2ForCausalLM"})},
      {"model_type", is_llama ? "llama" : "qwen2"},
      {"num_hidden_layers", m.layers},
      {"num_attention_heads", m.heads},
      {"num_key_value_heads", m.kv_heads},
      {"head_dim", m.head_size},
      {"hidden_size", m.hidden},
      {"intermediate_size", m.intermediate},
      {"max_position_embeddings", m.positions},
      {"vocab_size", m.vocabulary},
      {"rms_norm_eps", shortest(m.norm_epsilon)},
      {"rope_theta", m.rope_theta}};
  write_rope_scaling(m.rope_scaling, j);
  j["hidden_act"] = "silu";
  j["attention_dropout"] = shortest(m.attention_dropout);
  if (is_llama) {
    j["attention_bias"] = m.attention_output_bias;
    j["mlp_bias"] = m.mlp_bias;
  }
  return j;
}

}  // namespace

std::string huggingface_config(const ModelConfig& model, DType type) {
  auto j = model.architecture == Architecture::gpt2 ? gpt2(model) : llama(model);
  j["tie_word_embeddings"] = model.tied_embeddings;
  j["initializer_range"] = shortest(model.initializer_range);
  // null for unknown token ids: a reader's own defaults belong to another vocabulary.
  for (const char* key : token_id_keys) j[key] = nullptr;
  j.update(ordered_json::parse(model.token_ids));
  j["torch_dtype"] = type == DType::bf16 ? "bfloat16" : type == DType::f16 ? "float16" : "float32";
  return j.dump(2) + "\n";
}

}  // namespace triax
