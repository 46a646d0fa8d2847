// SPDX-License-Identifier: Apache-2.0
// Rows of the key table for the section optimizer, from the table of optimizers.
#include <fmt/format.h>

#include <utility>

#include "src/config/keys/key_table.hpp"
#include "src/state/optimizer/rules/parameter.hpp"
#include "src/state/optimizer/rules/rules.hpp"

namespace triax {
namespace {
using enum KeyType;

Key type_key() {
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::string>> others;
  for (const OptimizerRule* rule : optimizer_rules()) {
    names.emplace_back(rule->name);
    for (const char* other : rule->other_names) others.emplace_back(other, rule->name);
  }
  std::string meaning = "Adam is AdamW unless adam_w_mode is false, as in DeepSpeed";
  for (const auto& [other, name] : others)
    meaning += fmt::format("; {} is Hugging Face's name of {}", other, name);
  return obeyed("optimizer.type", string, "AdamW", one_of_any_case(std::move(names)),
                std::move(meaning))
      .or_names(std::move(others))
      .without({"OneBitAdam", "ZeroOneAdam", "Lamb", "OneBitLamb", "MuAdam", "MuAdamW", "MuSGD",
                "FusedAdam", "CPUAdam", "paged_adamw", "paged_adamw_32bit", "paged_adamw_8bit",
                "paged_lion", "paged_lion_32bit", "paged_lion_8bit"});
}

}  // namespace

std::vector<Key> optimizer_keys() {
  std::vector<Key> keys = {type_key()};
  for (const OptimizerRule* rule : optimizer_rules())
    for (RuleParameter& parameter : rule->parameters())
      add_for_type(keys, std::move(parameter.key), rule->name);
  keys.push_back(
      obeyed("optimizer.groups", list, nullptr, anything(),
             "tensors with a learning rate or decay of their own, as PyTorch's "
             "param_groups: objects {\"match\": pattern of tensor names, \"lr\": number, "
             "\"weight_decay\": number}; the first match counts"));
  keys.push_back(accepted("optimizer.legacy_fusion", boolean, false,
                          "selects an implementation in DeepSpeed"));
  for (const auto* name :
       {"freeze_step", "cuda_aware", "comm_backend_name", "var_freeze_step", "var_update_scaler",
        "local_step_scaler", "local_step_clipper", "max_coeff", "min_coeff", "coeff_beta",
        "factor_max", "factor_min", "factor_threshold", "ns_method"})
    keys.push_back(refused(optimizer_path(name), any, nullptr, "for optimizers that are not built",
                           "no optimizer here has it"));
  return keys;
}

}  // namespace triax
