// SPDX-License-Identifier: Apache-2.0
// Mistral (Jiang et al. 2023): a Llama whose blocks all have a window, unless sliding_window is
// null (as from version 0.2 on).
#include <utility>

#include "src/model/families/keys/decoder.hpp"
#include "src/model/families/keys/windows.hpp"
#include "src/model/families/llama_block.hpp"
#include "src/model/families/rows.hpp"

namespace triax::families {
namespace {
using enum KeyType;

std::vector<Key> keys() {
  std::vector<Key> k = decoder_keys(
      {.intermediate = 14336, .positions = 131072, .vocabulary = 32000, .kv_heads = 8});
  k.push_back(window_key(4096));
  k.push_back(refused("model.attention_bias", boolean, false, "biases of attention's maps",
                      "this architecture has none"));
  k.push_back(refused("model.layer_types", strings, nullptr, "attention of each block",
                      "all blocks of a mistral have the window"));
  for (Key& key : foreign_keys()) k.push_back(std::move(key));
  return k;
}

void read(Settings& s, ModelConfig& m, ErrorList& errors) {
  read_decoder(s, m, errors);
  m.window = static_cast<int>(said_window(s));
  if (m.window > 0) m.windowed.assign(static_cast<std::size_t>(m.layers), true);
}

void write(const ModelConfig& m, nlohmann::ordered_json& root) {
  write_decoder(m, root);
  root["sliding_window"] = nullptr;
  if (m.window > 0) root["sliding_window"] = m.window;
}

}  // namespace

const Family mistral = {.name = "mistral",
                        .classes = {"MistralForCausalLM", "MistralModel"},
                        .block = llama_block,
                        .keys = keys,
                        .sizes = decoder_sizes,
                        .read = read,
                        .write = write};

}  // namespace triax::families
