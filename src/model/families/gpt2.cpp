// SPDX-License-Identifier: Apache-2.0
// GPT-2 (Radford et al. 2019). Its dropouts default to 0, not to Hugging Face's 0.1; a
// config.json's values are obeyed.
#include <fmt/format.h>

#include "src/model/families/keys/decoder.hpp"
#include "src/model/families/rows.hpp"

namespace triax::families {
namespace {
using enum KeyType;

void add_unused(std::vector<Key>& k) {
  const std::string other = "triax implements GPT-2 as published";
  k.push_back(refused("model.scale_attn_weights", boolean, true,
                      "attention scores divided by sqrt(head size)", other));
  k.push_back(refused("model.scale_attn_by_inverse_layer_idx", boolean, false,
                      "attention scores divided by the layer's number", other));
  k.push_back(
      refused("model.add_cross_attention", boolean, false, "attention to an encoder", other));
  k.push_back(accepted("model.reorder_and_upcast_attn", boolean, false,
                       "attention in float32, as always here"));
  k.push_back(accepted("model.n_ctx", integer, nullptr, "old name of n_positions"));
  k.push_back(accepted("model.task_specific_params", any, nullptr, "Hugging Face bookkeeping"));
  for (const auto* name : {"type", "use_proj", "activation", "proj_to_labels", "first_dropout"})
    k.push_back(accepted(std::string("model.summary_") + name, any, nullptr,
                         "for classification heads, which triax does not have"));
}

std::vector<Key> keys() {
  std::vector<Key> k;
  const auto add = [&](Key&& key) { k.push_back(std::move(key)); };
  add(obeyed("model.n_layer", integer, 12, from_to(1, most_blocks), "transformer blocks"));
  add(obeyed("model.n_head", integer, 12, from_to(1, 1e6), "attention heads"));
  add(obeyed("model.n_embd", integer, 768, from_to(1, 1e7), "hidden width"));
  add(obeyed("model.n_positions", integer, 1024, from_to(1, 1e9), "longest sequence").in("tokens"));
  add(obeyed("model.n_inner", integer, nullptr, from_to(1, 1e8),
             "width of the MLP; null: 4 x n_embd"));
  add(obeyed("model.vocab_size", integer, 50257, from_to(1, 1e9), "vocabulary, unpadded")
          .in("tokens"));
  add(obeyed("model.layer_norm_epsilon", number, 1e-5, above(0),
             "added to the variance in LayerNorm"));
  add(obeyed("model.activation_function", string, "gelu_new",
             one_of({"gelu_new", "gelu_pytorch_tanh"}), "GELU in its tanh form"));
  add(obeyed("model.tie_word_embeddings", boolean, true, anything(),
             "the head is the token embedding"));
  const auto dropout = from_below(0, 1);
  add(obeyed("model.resid_pdrop", number, 0.0, dropout,
             "dropout after attention and MLP (0 here, 0.1 at Hugging Face)")
          .in("probability"));
  add(obeyed("model.embd_pdrop", number, 0.0, dropout,
             "dropout after the embedding (0 here, 0.1 at Hugging Face)")
          .in("probability"));
  add(obeyed("model.attn_pdrop", number, 0.0, dropout,
             "dropout of attention weights (0 here, 0.1 at Hugging Face)")
          .in("probability"));
  add_unused(k);
  return k;
}

void read(Settings& s, ModelConfig& m, ErrorList& errors) {
  derive(s, "model.n_inner", 4 * s.integer("model.n_embd"));
  m.layers = static_cast<int>(s.integer("model.n_layer"));
  m.heads = m.kv_heads = static_cast<int>(s.integer("model.n_head"));
  m.hidden = static_cast<int>(s.integer("model.n_embd"));
  m.intermediate = static_cast<int>(s.integer("model.n_inner"));
  m.positions = static_cast<int>(s.integer("model.n_positions"));
  m.head_size = m.hidden / m.heads;
  need(m.hidden % m.heads == 0, {"model.n_embd", "model.n_head"}, s, "model.n_embd",
       fmt::format("{} is not a multiple of model.n_head {}", m.hidden, m.heads), errors);
  m.norm_epsilon = static_cast<float>(s.number("model.layer_norm_epsilon"));
  m.embedding_dropout = static_cast<float>(s.number("model.embd_pdrop"));
  m.attention_dropout = static_cast<float>(s.number("model.attn_pdrop"));
  m.residual_dropout = static_cast<float>(s.number("model.resid_pdrop"));
}

void write(const ModelConfig& m, nlohmann::ordered_json& root) {
  root["n_layer"] = m.layers;
  root["n_head"] = m.heads;
  root["n_embd"] = m.hidden;
  root["n_inner"] = m.intermediate;
  root["n_positions"] = m.positions;
  root["vocab_size"] = m.vocabulary;
  root["layer_norm_epsilon"] = shortest(m.norm_epsilon);
  root["activation_function"] = "gelu_new";
  root["embd_pdrop"] = shortest(m.embedding_dropout);
  root["attn_pdrop"] = shortest(m.attention_dropout);
  root["resid_pdrop"] = shortest(m.residual_dropout);
}

constexpr BlockSpec block = {.outside = {.base = "transformer.",
                                         .token_embedding = "transformer.wte.weight",
                                         .position_embedding = "transformer.wpe.weight",
                                         .final_norm = "transformer.ln_f",
                                         .head = "lm_head.weight"},
                             .names = {.block = "transformer.h.",
                                       .attention_norm = "ln_1",
                                       .mlp_norm = "ln_2",
                                       .qkv = {"attn.c_attn", "", ""},
                                       .attention_output = "attn.c_proj",
                                       .mlp_input = {"mlp.c_fc", ""},
                                       .mlp_output = "mlp.c_proj"},
                             .norm = NormKind::layer_norm,
                             .qkv = QkvLayout::blocks,
                             .mlp = Mlp::gelu,
                             .order = WeightOrder::input_output,
                             .rotary = false,
                             .scaled_residual = true};

}  // namespace

const Family gpt2 = {.name = "gpt2",
                     .classes = {"GPT2LMHeadModel", "GPT2Model"},
                     .block = block,
                     .keys = keys,
                     .sizes = {"n_layer", "n_head", "n_embd", "vocab_size"},
                     .read = read,
                     .write = write};

}  // namespace triax::families
