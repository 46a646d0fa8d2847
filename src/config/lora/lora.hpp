// SPDX-License-Identifier: Apache-2.0
#pragma once
// Low-rank adapters of a model from PEFT's keys, and back.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

/// A problem with the value of a key: "<key>: <text>".
struct LoraProblem {
  std::string key, text;
};

/// The adapters that `keys`, an object, give to `model`; absent keys have PEFT's defaults. Keys
/// that PEFT has and triax does not know have no effect. Each problem is added to `problems`, and
/// the result is then of no use: a wrong value, a key that changes the function and is not
/// implemented, a word that stands for no module of the model or for one that cannot have an
/// adapter.
LoraConfig read_lora(const nlohmann::json& keys, const ModelConfig& model,
                     std::vector<LoraProblem>& problems);

/// read_lora of the text of an adapter_config.json. UsageError, naming `source`, with all problems:
/// those of read_lora, text that is no JSON object, a peft_type other than LORA, and initial values
/// that changed the base's weights (PiSSA, OLoRA, CorDA, LoftQ).
LoraConfig lora_of_adapter(const std::string& text, const std::string& source,
                           const ModelConfig& model);

/// Factor of B A of a module that has rank `rank`, by the keys of an adapter_config.json.
/// UsageError for a pattern that is no regular expression.
double lora_scale(const nlohmann::json& keys, const std::string& module, int rank);

/// Whether a module was trained whole beside adapters, by the keys of an adapter_config.json.
bool is_trained_whole(const nlohmann::json& keys, const std::string& module);

/// adapter_config.json of the adapters, as PEFT writes it. `base`: base_model_name_or_path.
std::string adapter_config(const ModelConfig& model, const std::string& base);

/// Patterns of the names of the tensors that are trained.
std::vector<std::string> trained_tensors(const LoraConfig& lora);

/// Lines that say how adapters differ, by what they are and not by the words that say it; none if
/// they are the same.
std::vector<std::string> lora_changes(const LoraConfig& before, const LoraConfig& now);

}  // namespace triax
