// SPDX-License-Identifier: Apache-2.0
#include "src/config/lora/refused_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace triax {
namespace {
using nlohmann::json;

constexpr const char* not_built[] = {
    "alora_invocation_tokens", "layer_replication", "lora_bias", "target_parameters",
    "trainable_token_indices", "use_bdlora",        "use_qalora"};
// Keys of this end choose a variant of LoRA too, but for those of initial values.
constexpr const char* variant_end = "_config";
constexpr const char* of_start[] = {"corda_config", "eva_config", "loftq_config", "lora_ga_config"};

bool says_nothing(const json& value) {
  return value.is_null() || value == false ||
         ((value.is_object() || value.is_array()) && value.empty());
}

}  // namespace

void refuse_not_built(const json& keys, std::vector<LoraProblem>& problems) {
  for (const char* key : not_built)
    if (!says_nothing(keys.value(key, json())))
      problems.push_back({key, "is not built. Leave it out, and train without it"});
  for (const auto& [key, value] : keys.items())
    if (key.ends_with(variant_end) && !says_nothing(value) &&
        std::ranges::find(of_start, key) == std::end(of_start))
      problems.push_back(
          {key, "is of a variant that is not built. Leave it out, and train without it"});
  const json bias = keys.value("bias", json());
  if (!bias.is_null() && bias != "none")
    problems.push_back({"bias", fmt::format("{}: biases are not trained beside adapters. Set it to "
                                            "\"none\"",
                                            bias.dump())});
}

}  // namespace triax
