// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one table of Axolotl's keys: what each becomes in a job of triax.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace triax {

enum class AxolotlUse : std::uint8_t {
  becomes,         // keys of the job
  without_effect,  // accepted, and named at the start
  refused,         // any value but a neutral one is an error
};

struct AxolotlKey {
  const char* name;
  AxolotlUse use;
  /// becomes: the keys of the job; without_effect: why it has none; refused: why, and what to do.
  const char* text;
  const char* neutral = "";  // a value, as JSON, that asks for nothing, besides null, false and 0
};

/// Rows for one map of the file: "" is the file itself, "datasets" an entry of datasets or
/// test_datasets, "bnb_config_kwargs", "fsdp_config" and "special_tokens" those maps.
std::vector<AxolotlKey> axolotl_keys(const std::string& map);
/// The maps, with the file itself first.
std::vector<std::string> axolotl_maps();
/// Whether the value asks for nothing: null, false, 0, nothing between quotes or brackets, or the
/// row's neutral value.
bool is_neutral(const AxolotlKey& key, const nlohmann::ordered_json& value);

// Parts of the table, by subject.
std::span<const AxolotlKey> axolotl_model_keys();     // model, adapters, tokens
std::span<const AxolotlKey> axolotl_bnb_keys();       // of bnb_config_kwargs
std::span<const AxolotlKey> axolotl_training_keys();  // steps, optimizer, checkpoints, memory
std::span<const AxolotlKey> axolotl_data_keys();      // data, preferences, reports
std::span<const AxolotlKey> axolotl_dataset_keys();
std::span<const AxolotlKey> axolotl_fsdp_keys();
std::span<const AxolotlKey> axolotl_special_token_keys();

}  // namespace triax
