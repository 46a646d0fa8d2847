// SPDX-License-Identifier: Apache-2.0
// Granite 3 (dense): a Llama with factors on embeddings, attention scores, outputs of attention and
// MLP, and logits (Yang et al. 2022, muP).
#include <utility>

#include "src/model/families/keys/decoder.hpp"
#include "src/model/families/keys/windows.hpp"
#include "src/model/families/llama_block.hpp"
#include "src/model/families/rows.hpp"

namespace triax::families {
namespace {
using enum KeyType;

const std::string embedding = "model.embedding_multiplier", residual = "model.residual_multiplier",
                  scores = "model.attention_multiplier", logits = "model.logits_scaling";

std::vector<Key> keys() {
  std::vector<Key> k =
      decoder_keys({.intermediate = 11008, .positions = 2048, .vocabulary = 32000});
  k.push_back(attention_bias_key());
  k.push_back(mlp_bias_key());
  k.push_back(obeyed(embedding, number, 1.0, above(0), "factor on embeddings"));
  k.push_back(obeyed(residual, number, 1.0, above(0),
                     "factor on outputs of attention and MLP, before they are added"));
  k.push_back(obeyed(scores, number, 1.0, above(0), "factor on attention scores"));
  k.push_back(obeyed(logits, number, 1.0, above(0), "divisor of the logits"));
  for (Key& key : no_window_keys()) k.push_back(std::move(key));
  for (Key& key : foreign_keys({"embedding_multiplier", "residual_multiplier",
                                "attention_multiplier", "logits_scaling"}))
    k.push_back(std::move(key));
  return k;
}

void read(Settings& s, ModelConfig& m, ErrorList& errors) {
  read_decoder(s, m, errors);
  m.embedding_scale = static_cast<float>(s.number(embedding));
  m.residual_scale = static_cast<float>(s.number(residual));
  m.attention_scale = static_cast<float>(s.number(scores));
  m.logit_divisor = static_cast<float>(s.number(logits));
}

void write(const ModelConfig& m, nlohmann::ordered_json& root) {
  write_decoder(m, root);
  root["attention_bias"] = m.attention_output_bias;
  root["mlp_bias"] = m.mlp_bias;
  root["embedding_multiplier"] = shortest(m.embedding_scale);
  root["residual_multiplier"] = shortest(m.residual_scale);
  root["attention_multiplier"] = shortest(m.attention_scale);
  root["logits_scaling"] = shortest(m.logit_divisor);
}

}  // namespace

const Family granite = {.name = "granite",
                        .classes = {"GraniteForCausalLM", "GraniteModel"},
                        .block = llama_block,
                        .keys = keys,
                        .sizes = decoder_sizes,
                        .read = read,
                        .write = write};

}  // namespace triax::families
