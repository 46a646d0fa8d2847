// SPDX-License-Identifier: Apache-2.0
// adapter_config.json, both ways, and differences of adapters.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "kernels/base/check.hpp"
#include "src/config/lora/lora.hpp"
#include "src/config/lora/module_match.hpp"

namespace triax {
namespace {
using nlohmann::json;

// Initial values that take a part out of the base's weights: an adapter of them is one of another
// base.
constexpr const char* of_changed_bases[] = {"pissa", "olora", "corda", "loftq", "lora_ga"};

// The word of init_lora_weights that changed the base; empty: the base is the model's own.
std::string changed_base(const json& keys) {
  const json start = keys.value("init_lora_weights", json());
  if (!start.is_string()) return {};
  const auto word = start.get<std::string>();
  const bool changes = std::ranges::any_of(
      of_changed_bases, [&](const char* each) { return word.starts_with(each); });
  return changes ? word : std::string();
}

}  // namespace

LoraConfig lora_of_adapter(const std::string& text, const std::string& source,
                           const ModelConfig& model) {
  const json keys = json::parse(text, nullptr, false);
  if (!keys.is_object())
    throw UsageError(source + " is no adapter_config.json", "it is no JSON object",
                     "Name a folder that PEFT or triax wrote");
  const json type = keys.value("peft_type", json("LORA"));
  if (type != "LORA")
    throw UsageError(fmt::format("{}: peft_type is {}", source, type.dump()),
                     "only low-rank adapters (LORA) are built", "Name a LoRA adapter");
  if (const std::string word = changed_base(keys); !word.empty())
    throw UsageError(fmt::format("{}: init_lora_weights is \"{}\"", source, word),
                     "this start changed the base's weights, so the adapter is not one of the "
                     "plain base",
                     "Save it with PEFT's path_initial_model_for_weight_conversion, which converts "
                     "it to one of the plain base");
  std::vector<LoraProblem> problems;
  LoraConfig lora = read_lora(keys, model, problems);
  if (problems.empty()) return lora;
  std::vector<std::string> lines;
  lines.reserve(problems.size());
  for (const LoraProblem& problem : problems) lines.push_back(problem.key + ": " + problem.text);
  throw UsageError(fmt::format("{}: {}", source, fmt::join(lines, "; ")));
}

double lora_scale(const json& keys, const std::string& module, int rank) {
  json alpha = keys.value("lora_alpha", json(8));
  const json patterns = keys.value("alpha_pattern", json());
  if (patterns.is_object())
    for (const auto& [pattern, value] : patterns.items())
      if (pattern_names(pattern, module)) {
        alpha = value;
        break;
      }
  const bool root = keys.value("use_rslora", json()) == true;
  return (alpha.is_number() ? alpha.get<double>() : 0.0) / (root ? std::sqrt(rank) : rank);
}

bool is_trained_whole(const json& keys, const std::string& module) {
  return saves_module(keys.value("modules_to_save", json()), module);
}

std::string adapter_config(const ModelConfig& model, const std::string& base) {
  json keys = json::parse(model.lora.keys);
  keys.update({{"auto_mapping", nullptr},
               {"base_model_name_or_path", base},
               {"inference_mode", true},
               {"layer_replication", nullptr},
               {"loftq_config", json::object()},
               {"lora_bias", false},
               {"megatron_config", nullptr},
               {"megatron_core", "megatron.core"},
               {"peft_type", "LORA"},
               {"revision", nullptr},
               {"task_type", "CAUSAL_LM"}});
  return keys.dump(2, ' ', false, json::error_handler_t::replace);
}

std::vector<std::string> trained_tensors(const LoraConfig& lora) {
  std::vector<std::string> patterns = {"*.lora_[AB].weight"};
  if (lora.dora) patterns.push_back(std::string("*") + lora_magnitude_suffix);
  patterns.insert(patterns.end(), lora.saved.begin(), lora.saved.end());
  return patterns;
}

std::vector<std::string> lora_changes(const LoraConfig& before, const LoraConfig& now) {
  std::vector<std::string> lines;
  if (before.dora != now.dora)
    lines.push_back(before.dora ? "adapters had magnitudes (use_dora), and have none now"
                                : "adapters had no magnitudes (use_dora), and have some now");
  const auto text = [](const AdapterShape& shape) {
    return fmt::format("rank {}, alpha {:g}, scale {:g}", shape.rank, shape.alpha, shape.scale);
  };
  for (const auto& [module, shape] : before.modules) {
    const auto found = now.modules.find(module);
    if (found == now.modules.end())
      lines.push_back(fmt::format("{} had an adapter ({}), and has none now", module, text(shape)));
    else if (found->second != shape)
      lines.push_back(
          fmt::format("{} had {}, and has {} now", module, text(shape), text(found->second)));
  }
  for (const auto& [module, shape] : now.modules)
    if (!before.modules.contains(module))
      lines.push_back(fmt::format("{} had no adapter, and has one now ({})", module, text(shape)));
  for (const std::string& module : before.saved)
    if (!now.saved.contains(module))
      lines.push_back(fmt::format("{} was trained whole, and is frozen now", module));
  for (const std::string& module : now.saved)
    if (!before.saved.contains(module))
      lines.push_back(fmt::format("{} was frozen, and is trained whole now", module));
  return lines;
}

}  // namespace triax
