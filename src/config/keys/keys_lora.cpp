// SPDX-License-Identifier: Apache-2.0
// Rows of the section lora: low-rank adapters, under PEFT's names. Defaults are PEFT's too, and are
// filled in where the section is (resolve_lora), so that a job without it has none of them.
#include "src/config/keys/key_table.hpp"

namespace triax {
namespace {
using enum KeyType;
using Keys = std::vector<Key>;

void add_targets(Keys& k) {
  k.push_back(obeyed("lora.target_modules", strings, nullptr, anything(),
                     "linear maps that have an adapter: a list of names or of their last parts, a "
                     "regular expression of whole names, or \"all-linear\" (all but the head); "
                     "absent: queries and values, as in PEFT"));
  k.push_back(obeyed("lora.exclude_modules", strings, nullptr, anything(),
                     "linear maps that have none; named as in target_modules, and wins"));
  k.push_back(obeyed("lora.layers_to_transform", any, nullptr, anything(),
                     "number of a block, or a list of them: only these have adapters; "
                     "target_modules is then a list"));
  k.push_back(obeyed("lora.layers_pattern", strings, nullptr, anything(),
                     "name before the block's number in names of modules (\"layers\", \"h\")"));
  k.push_back(
      obeyed("lora.rank_pattern", object, nullptr, anything(),
             "{\"pattern\": r}: ranks of modules whose name, or its last parts, the regular "
             "expression matches; the first of the patterns in alphabetical order counts"));
  k.push_back(obeyed("lora.alpha_pattern", object, nullptr, anything(),
                     "{\"pattern\": lora_alpha}, as rank_pattern"));
}

void add_unused(Keys& k) {
  const std::string not_built = "it is not built yet";
  k.push_back(refused("lora.bias", string, "none", "biases trained beside the adapters",
                      "biases stay frozen"));
  k.push_back(refused("lora.lora_bias", boolean, false, "a bias behind B", not_built));
  for (const auto* name : {"trainable_token_indices", "target_parameters", "layer_replication",
                           "megatron_config", "alora_invocation_tokens", "arrow_config",
                           "eva_config", "corda_config", "lora_ga_config", "loftq_config"})
    k.push_back(refused(std::string("lora.") + name, any, nullptr, "PEFT's", not_built));
  for (const auto* name : {"use_qalora", "use_bdlora"})
    k.push_back(refused(std::string("lora.") + name, boolean, false, "PEFT's", not_built));
  for (const auto* name :
       {"peft_type", "task_type", "base_model_name_or_path", "revision", "inference_mode",
        "auto_mapping", "peft_version", "fan_in_fan_out", "megatron_core", "qalora_group_size",
        "ensure_weight_tying", "runtime_config"})
    k.push_back(accepted(std::string("lora.") + name, any, nullptr,
                         "in PEFT's adapter_config.json; the model and the job say it"));
}

}  // namespace

Keys lora_keys() {
  Keys k;
  k.push_back(
      obeyed("lora.r", integer, nullptr, from_to(1, 1e6),
             "rank of the adapters; 8 in a section without it. With any key of this section "
             "low-rank adapters are trained, and the model itself is frozen"));
  k.push_back(obeyed("lora.lora_alpha", number, nullptr, above(0),
                     "the adapters' share is multiplied by lora_alpha / r; absent: 8"));
  k.push_back(obeyed("lora.use_rslora", boolean, nullptr, anything(),
                     "multiply by lora_alpha / sqrt(r) instead"));
  k.push_back(obeyed("lora.use_dora", boolean, nullptr, anything(),
                     "adapt the norm of each output's weights by a parameter of its own, and their "
                     "direction by B A; slower. On CPUs"));
  k.push_back(obeyed("lora.lora_dropout", number, nullptr, from_below(0, 1),
                     "dropout of the adapters' inputs; absent: 0")
                  .in("probability"));
  k.push_back(obeyed("lora.init_lora_weights", any, nullptr, anything(),
                     "initial values. true: A uniform within 1/sqrt(inputs), B zero; \"gaussian\": "
                     "A normal of deviation 1/r; false: B random too. Absent: true"));
  add_targets(k);
  k.push_back(obeyed("lora.modules_to_save", strings, nullptr, anything(),
                     "embeddings, head and norms that are trained whole beside the adapters, and "
                     "saved with them: a list of names or of their ends"));
  k.push_back(obeyed("lora.adapter", path, nullptr, anything(),
                     "directory of an adapter in PEFT's format to start from; it says all keys but "
                     "lora_dropout"));
  add_unused(k);
  return k;
}

}  // namespace triax
