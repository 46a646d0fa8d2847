// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keys of sliding windows: blocks whose queries see the newest keys only.
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "src/config/config.hpp"
#include "src/config/keys/key.hpp"
#include "src/config/keys/settings.hpp"

namespace triax {

/// Rows for an architecture without windows: they are refused.
std::vector<Key> no_window_keys();
/// Row of sliding_window; null: no windows.
Key window_key(nlohmann::json value);
/// Row of layer_types: which blocks have a window.
Key layer_types_key();
/// Rows of Qwen's keys: windows from block max_window_layers on, if use_sliding_window.
std::vector<Key> qwen_window_keys();

/// Blocks with a window where layer_types is absent.
struct WindowRule {
  const char* key;  // that sets the rule ("model.max_window_layers"); null: none
  std::function<bool(int block)> windowed;
};

/// Reads layer_types; if it is absent, `rule` holds. `window`: sliding_window; 0: none. Warns where
/// both are given and differ.
void read_windows(Settings& settings, ModelConfig& model, std::int64_t window,
                  const WindowRule& rule, ErrorList& errors);
/// The same for Qwen's keys.
void read_qwen_windows(Settings& settings, ModelConfig& model, ErrorList& errors);
/// Value of sliding_window; 0 if it is null.
std::int64_t said_window(const Settings& settings);

/// Writes sliding_window and layer_types.
void write_windows(const ModelConfig& model, nlohmann::ordered_json& root);
void write_qwen_windows(const ModelConfig& model, nlohmann::ordered_json& root);

}  // namespace triax
