// SPDX-License-Identifier: Apache-2.0
// GPT-NeoX (Black et al. 2022), of which Pythia is one: attention and MLP in parallel, LayerNorm,
// and rotary positions in part of each head.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/model/families/keys/decoder.hpp"
#include "src/model/families/keys/rope_scaling.hpp"
#include "src/model/families/rows.hpp"

namespace triax::families {
namespace {
using enum KeyType;

const std::string width = "model.hidden_size", heads = "model.num_attention_heads";

std::vector<Key> keys() {
  std::vector<Key> k;
  const auto add = [&](Key&& key) { k.push_back(std::move(key)); };
  add(obeyed("model.num_hidden_layers", integer, 44, from_to(1, most_blocks),
             "transformer blocks"));
  add(obeyed(heads, integer, 64, from_to(1, 1e6), "query heads"));
  add(obeyed(width, integer, 6144, from_to(1, 1e7), "hidden width"));
  add(obeyed("model.intermediate_size", integer, 24576, from_to(1, 1e8), "width of the MLP"));
  add(obeyed("model.max_position_embeddings", integer, 2048, from_to(1, 1e9), "longest sequence")
          .in("tokens"));
  add(obeyed("model.vocab_size", integer, 50432, from_to(1, 1e9), "vocabulary, unpadded")
          .in("tokens"));
  add(obeyed("model.layer_norm_eps", number, 1e-5, above(0), "added to the variance in LayerNorm"));
  add(obeyed("model.hidden_act", string, "gelu",
             one_of({"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"}),
             "activation of the MLP: GELU by erf (gelu), or in its tanh form"));
  add(obeyed("model.use_parallel_residual", boolean, true, anything(),
             "attention and MLP read the same input"));
  add(obeyed("model.tie_word_embeddings", boolean, false, anything(),
             "the head is the token embedding"));
  add(attention_bias_key(true));
  add(obeyed("model.attention_dropout", number, 0.0, from_below(0, 1),
             "dropout of attention weights")
          .in("probability"));
  add(obeyed("model.hidden_dropout", number, 0.0, from_below(0, 1),
             "dropout after the embedding, attention and MLP")
          .in("probability"));
  for (const char* old : {"attention_probs_dropout_prob", "hidden_dropout_prob"})
    add(accepted(std::string("model.") + old, number, nullptr,
                 "in published files; transformers does not use it"));
  add(accepted("model.classifier_dropout", number, nullptr,
               "for classification heads, which triax does not have"));
  add(partial_rotary_key(0.25));
  for (Key& key : rope_section_keys(10000.0)) k.push_back(std::move(key));
  for (Key& key : foreign_keys({"partial_rotary_factor"})) k.push_back(std::move(key));
  return k;
}

void read(Settings& s, ModelConfig& m, ErrorList& errors) {
  m.layers = static_cast<int>(s.integer("model.num_hidden_layers"));
  m.heads = m.kv_heads = static_cast<int>(s.integer(heads));
  m.hidden = static_cast<int>(s.integer(width));
  need(m.hidden % m.heads == 0, {width, heads}, s, width,
       fmt::format("{} is not a multiple of model.num_attention_heads {}", m.hidden, m.heads),
       errors);
  m.head_size = std::max(2, m.hidden / m.heads);
  m.intermediate = static_cast<int>(s.integer("model.intermediate_size"));
  m.positions = static_cast<int>(s.integer("model.max_position_embeddings"));
  m.norm_epsilon = static_cast<float>(s.number("model.layer_norm_eps"));
  m.exact_gelu = s.string("model.hidden_act") == "gelu";
  m.parallel_residual = s.boolean("model.use_parallel_residual");
  m.qkv_bias = m.attention_output_bias = s.boolean("model.attention_bias");
  m.mlp_bias = true;
  m.attention_dropout = static_cast<float>(s.number("model.attention_dropout"));
  m.embedding_dropout = m.residual_dropout = static_cast<float>(s.number("model.hidden_dropout"));
  read_rope_section(s, m, errors);
}

void write(const ModelConfig& m, nlohmann::ordered_json& root) {
  root["num_hidden_layers"] = m.layers;
  root["num_attention_heads"] = m.heads;
  root["hidden_size"] = m.hidden;
  root["intermediate_size"] = m.intermediate;
  root["max_position_embeddings"] = m.positions;
  root["vocab_size"] = m.vocabulary;
  root["layer_norm_eps"] = shortest(m.norm_epsilon);
  root["hidden_act"] = m.exact_gelu ? "gelu" : "gelu_new";
  root["use_parallel_residual"] = m.parallel_residual;
  root["attention_bias"] = m.qkv_bias;
  root["rotary_emb_base"] = m.rope_theta;
  root["rotary_pct"] = rotary_share(m);
  write_rope_scaling(m.rope_scaling, root);
  root["attention_dropout"] = shortest(m.attention_dropout);
  root["hidden_dropout"] = shortest(m.residual_dropout);
}

constexpr BlockSpec block = {.outside = {.base = "gpt_neox.",
                                         .token_embedding = "gpt_neox.embed_in.weight",
                                         .final_norm = "gpt_neox.final_layer_norm",
                                         .head = "embed_out.weight"},
                             .names = {.block = "gpt_neox.layers.",
                                       .attention_norm = "input_layernorm",
                                       .mlp_norm = "post_attention_layernorm",
                                       .qkv = {"attention.query_key_value", "", ""},
                                       .attention_output = "attention.dense",
                                       .mlp_input = {"mlp.dense_h_to_4h", ""},
                                       .mlp_output = "mlp.dense_4h_to_h"},
                             .norm = NormKind::layer_norm,
                             .qkv = QkvLayout::heads,
                             .mlp = Mlp::gelu};

}  // namespace

const Family gpt_neox = {
    .name = "gpt_neox",
    .classes = {"GPTNeoXForCausalLM", "GPTNeoXModel"},
    .block = block,
    .keys = keys,
    .sizes = decoder_sizes,
    .read = read,
    .write = write,
    .old_keys = {{"rotary_emb_base", "rope_theta"}, {"rotary_pct", "partial_rotary_factor"}}};

}  // namespace triax::families
