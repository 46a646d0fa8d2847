// SPDX-License-Identifier: Apache-2.0
#include "src/model/families/keys/windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace triax {
namespace {
using enum KeyType;
using nlohmann::json;

const std::string window_path = "model.sliding_window", types_path = "model.layer_types";
constexpr const char* full = "full_attention";
constexpr const char* sliding = "sliding_attention";

// Blocks with a window, as layer_types says.
std::vector<bool> listed_windows(Settings& s, const ModelConfig& m, std::int64_t window,
                                 ErrorList& errors) {
  const json& types = s.at(types_path).value;
  std::vector<bool> windowed(static_cast<std::size_t>(m.layers), false);
  const json list = types.is_array() ? types : json::array({types});
  if (std::ssize(list) != m.layers) {
    s.error(errors, types_path, fmt::format("{} entries for {} blocks", list.size(), m.layers));
    return windowed;
  }
  for (std::size_t block = 0; block < list.size(); ++block)
    windowed[block] = list[block] == sliding;
  if (window == 0 && std::ranges::find(windowed, true) != windowed.end())
    s.error(errors, types_path,
            std::string("names \"sliding_attention\", but there is no window: set sliding_window") +
                (s.table().find("model.use_sliding_window", m.architecture) == nullptr
                     ? ""
                     : " and use_sliding_window"));
  return windowed;
}

}  // namespace

std::vector<Key> no_window_keys() {
  std::vector<Key> k;
  const char* reason = "this architecture has no windows";
  k.push_back(refused("model.use_sliding_window", boolean, false, "attention in a window", reason));
  k.push_back(refused(window_path, integer, nullptr, "attention in a window", reason));
  k.push_back(obeyed(types_path, strings, nullptr, one_of({full}), "attention of each block"));
  return k;
}

Key window_key(json value) {
  return obeyed(window_path, integer, std::move(value), from_to(1, 1e9),
                "keys that a query of a block with a window sees, its own included; null: none")
      .in("tokens")
      .or_null();
}

Key layer_types_key() {
  return obeyed(types_path, strings, nullptr, one_of({full, sliding}),
                "attention of each block: of all keys, or in a window");
}

std::vector<Key> qwen_window_keys() {
  std::vector<Key> k;
  k.push_back(obeyed("model.use_sliding_window", boolean, false, anything(),
                     "some blocks attend in a window"));
  k.push_back(window_key(4096));
  k.push_back(obeyed("model.max_window_layers", integer, 28, at_least(0),
                     "first block with a window, if layer_types is absent"));
  k.push_back(layer_types_key());
  return k;
}

std::int64_t said_window(const Settings& s) {
  return s.has(window_path) ? s.integer(window_path) : 0;
}

void read_windows(Settings& s, ModelConfig& m, std::int64_t window, const WindowRule& rule,
                  ErrorList& errors) {
  std::vector<bool> ruled(static_cast<std::size_t>(m.layers), false);
  for (int block = 0; block < m.layers; ++block)
    ruled[static_cast<std::size_t>(block)] = window > 0 && rule.windowed(block);
  m.windowed = s.has(types_path) ? listed_windows(s, m, window, errors) : ruled;
  if (rule.key != nullptr && s.at(rule.key).source != "default" && m.windowed != ruled)
    s.warn(rule.key, "has no effect, as layer_types lists the blocks with a window: set that");
  m.window = static_cast<int>(window);
  if (window == 0 || std::ranges::find(m.windowed, true) == m.windowed.end()) {
    m.window = 0;
    m.windowed.clear();
  }
}

void read_qwen_windows(Settings& s, ModelConfig& m, ErrorList& errors) {
  const std::int64_t window = s.boolean("model.use_sliding_window") ? said_window(s) : 0;
  const std::int64_t first = s.integer("model.max_window_layers");
  read_windows(s, m, window, {"model.max_window_layers", [&](int block) { return block >= first; }},
               errors);
}

void write_windows(const ModelConfig& m, nlohmann::ordered_json& root) {
  root["sliding_window"] = nullptr;
  if (m.window > 0) root["sliding_window"] = m.window;
  auto& types = root["layer_types"] = nlohmann::ordered_json::array();
  for (int block = 0; block < m.layers; ++block)
    types.push_back(!m.windowed.empty() && m.windowed[static_cast<std::size_t>(block)] ? sliding
                                                                                       : full);
}

void write_qwen_windows(const ModelConfig& m, nlohmann::ordered_json& root) {
  root["use_sliding_window"] = m.window > 0;
  if (m.window == 0) return;
  write_windows(m, root);
  // Readers without layer_types know windows from one block on.
  const auto first = std::ranges::find(m.windowed, true);
  if (std::all_of(first, m.windowed.end(), [](bool windowed) { return windowed; }))
    root["max_window_layers"] = first - m.windowed.begin();
}

}  // namespace triax
