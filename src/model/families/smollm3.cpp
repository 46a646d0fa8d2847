// SPDX-License-Identifier: Apache-2.0
// SmolLM3 (2025): a Llama in which every fourth block has no rotary positions.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/model/families/keys/decoder.hpp"
#include "src/model/families/keys/windows.hpp"
#include "src/model/families/llama_block.hpp"
#include "src/model/families/rows.hpp"

namespace triax::families {
namespace {
using enum KeyType;

const std::string listed = "model.no_rope_layers";
const std::string interval_path = "model.no_rope_layer_interval";

std::vector<Key> keys() {
  std::vector<Key> k = decoder_keys({.layers = 36,
                                     .heads = 16,
                                     .hidden = 2048,
                                     .intermediate = 11008,
                                     .positions = 32768,
                                     .vocabulary = 128256,
                                     .kv_heads = 4,
                                     .theta = 2e6,
                                     .tied = true});
  k.push_back(attention_bias_key());
  k.push_back(mlp_bias_key());
  k.push_back(obeyed(listed, numbers, nullptr, from_to(0, 1),
                     "by block: 1 if it has rotary positions, 0 if not"));
  k.push_back(obeyed(interval_path, integer, 4, at_least(1),
                     "every n-th block has no rotary positions, if no_rope_layers is absent"));
  k.push_back(obeyed("model.use_sliding_window", boolean, false, anything(),
                     "some blocks attend in a window"));
  k.push_back(window_key(nullptr));
  k.push_back(layer_types_key());
  k.push_back(accepted("model.max_window_layers", integer, nullptr, "without effect"));
  k.push_back(
      accepted("model.pretraining_tp", integer, 1, "how the published weights were trained"));
  for (Key& key : foreign_keys()) k.push_back(std::move(key));
  return k;
}

void read(Settings& s, ModelConfig& m, ErrorList& errors) {
  read_decoder(s, m, errors);
  const std::int64_t interval = s.integer(interval_path);
  m.rotary.assign(static_cast<std::size_t>(m.layers), true);
  for (int block = 0; block < m.layers; ++block)
    m.rotary[static_cast<std::size_t>(block)] = (block + 1) % interval != 0;
  const std::vector<bool> ruled = m.rotary;
  if (s.has(listed)) {
    const nlohmann::json& list = s.at(listed).value;
    need(std::ranges::all_of(list, [](const auto& v) { return v == 0 || v == 1; }), {listed}, s,
         listed, "has numbers that are neither 0 nor 1", errors);
    need(std::ssize(list) == m.layers, {listed, "model.num_hidden_layers"}, s, listed,
         fmt::format("{} entries for {} blocks", list.size(), m.layers), errors);
    for (std::size_t block = 0; block < std::min(list.size(), m.rotary.size()); ++block)
      m.rotary[block] = list[block] != 0;
    if (s.at(interval_path).source != "default" && m.rotary != ruled)
      s.warn(interval_path, "has no effect, as no_rope_layers lists the blocks: set that");
  }
  const std::int64_t window = s.boolean("model.use_sliding_window") ? said_window(s) : 0;
  read_windows(s, m, window,
               {nullptr, [&](int block) { return !m.rotary[static_cast<std::size_t>(block)]; }},
               errors);
}

void write(const ModelConfig& m, nlohmann::ordered_json& root) {
  write_decoder(m, root);
  root["attention_bias"] = m.attention_output_bias;
  root["mlp_bias"] = m.mlp_bias;
  auto& list = root["no_rope_layers"] = nlohmann::ordered_json::array();
  for (int block = 0; block < m.layers; ++block)
    list.push_back(m.rotary.empty() || m.rotary[static_cast<std::size_t>(block)] ? 1 : 0);
  root["use_sliding_window"] = m.window > 0;
  write_windows(m, root);
}

}  // namespace

const Family smollm3 = {.name = "smollm3",
                        .classes = {"SmolLM3ForCausalLM", "SmolLM3Model"},
                        .block = llama_block,
                        .keys = keys,
                        .sizes = decoder_sizes,
                        .read = read,
                        .write = write};

}  // namespace triax::families
