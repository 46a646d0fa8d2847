// SPDX-License-Identifier: Apache-2.0
#include "src/axolotl/axolotl_keys.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace triax {

std::vector<std::string> axolotl_maps() {
  return {"", "bnb_config_kwargs", "datasets", "fsdp_config", "special_tokens"};
}

std::vector<AxolotlKey> axolotl_keys(const std::string& map) {
  const auto copy = [](std::span<const AxolotlKey> part) {
    return std::vector<AxolotlKey>(part.begin(), part.end());
  };
  if (map == "bnb_config_kwargs") return copy(axolotl_bnb_keys());
  if (map == "datasets") return copy(axolotl_dataset_keys());
  if (map == "fsdp_config") return copy(axolotl_fsdp_keys());
  if (map == "special_tokens") return copy(axolotl_special_token_keys());
  std::vector<AxolotlKey> all = copy(axolotl_model_keys());
  std::ranges::copy(axolotl_training_keys(), std::back_inserter(all));
  std::ranges::copy(axolotl_data_keys(), std::back_inserter(all));
  return all;
}

bool is_neutral(const AxolotlKey& key, const nlohmann::ordered_json& value) {
  if (value.is_null() || value == false || value == "") return true;
  if (value.is_number() && value.get<double>() == 0.0) return true;
  if (value.is_structured() && value.empty()) return true;
  return *key.neutral != '\0' && value == nlohmann::ordered_json::parse(key.neutral);
}

}  // namespace triax
