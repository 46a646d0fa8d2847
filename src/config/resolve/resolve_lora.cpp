// SPDX-License-Identifier: Apache-2.0
// The section lora: the adapters of the model, and PEFT's defaults of the keys that it lacks.
#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "kernels/base/check.hpp"
#include "src/config/lora/lora.hpp"
#include "src/config/resolve/resolve.hpp"
#include "src/config/source/json_lines.hpp"

namespace triax {
namespace {
using nlohmann::json;

constexpr std::string_view section = "lora.";

// The keys of the section that the job gives, without their section.
json given_keys(const Settings& s) {
  json keys = json::object();
  for (const std::string& path : s.paths())
    if (path.starts_with(section) && s.given(path) && s.at(path).treatment == Treatment::obeyed)
      keys[path.substr(section.size())] = s.at(path).value;
  keys.erase("adapter");
  return keys;
}

// The directory of lora.adapter; empty after an error.
std::string find_adapter(Settings& s, const std::string& job_file, ErrorList& missing) {
  const std::string key = "lora.adapter", named = s.string(key);
  return named_input(s, key, named, job_file,
                     "no such directory: " + named + ". Name a folder that PEFT wrote", missing);
}

// The keys of the adapter to start from, and those that the job gives; these may change its dropout
// alone. False after an error.
bool take_adapter(Settings& s, const ModelConfig& model, const std::string& directory,
                  LoraConfig& lora, ErrorList& errors) {
  const std::string key = "lora.adapter";
  const std::string file = (std::filesystem::path(directory) / "adapter_config.json").string();
  json keys;
  LoraConfig saved;
  try {
    const std::string text = read_text(file);
    saved = lora_of_adapter(text, file, model);
    keys = json::parse(text);
  } catch (const UsageError& error) {
    s.error(errors, key, error.what());
    return false;
  }
  keys.update(given_keys(s));
  std::vector<LoraProblem> problems;
  lora = read_lora(keys, model, problems);
  for (const LoraProblem& problem : problems)
    s.error(errors, std::string(section) + problem.key, problem.text);
  if (!problems.empty()) return false;
  if (const auto changes = lora_changes(saved, lora); !changes.empty()) {
    s.error(errors, key,
            fmt::format("its adapters are not those of the other keys of this section: {}. Leave "
                        "those out, or start from another adapter",
                        changes.front()));
    return false;
  }
  if (saved.dropout != lora.dropout)
    s.warn(key, fmt::format("{} has lora_dropout {}, and {} trains it", directory, saved.dropout,
                            lora.dropout));
  lora.from = directory;
  return true;
}

}  // namespace

void resolve_lora(Settings& s, ModelConfig& model, bool given, const std::string& job_file,
                  ErrorList& errors, ErrorList& missing) {
  const json keys = given_keys(s);
  const bool from = s.has("lora.adapter");
  if (!given || !s.sound({"model", "lora.adapter"})) return;
  for (const std::string other : {"freeze", "train_only"})
    if (s.has(other) && !s.at(other).value.empty())
      return s.error(errors, other,
                     "the section lora freezes the whole model, and trains its adapters alone. "
                     "Leave out one of them");
  LoraConfig lora;
  if (from) {
    const std::string directory = find_adapter(s, job_file, missing);
    if (directory.empty() || !take_adapter(s, model, directory, lora, errors)) return;
  } else {
    std::vector<LoraProblem> problems;
    lora = read_lora(keys, model, problems);
    for (const LoraProblem& problem : problems)
      s.error(errors, std::string(section) + problem.key, problem.text);
    if (!problems.empty()) return;
  }
  const json all = json::parse(lora.keys);
  for (const auto& [key, value] : all.items()) {
    const std::string path = std::string(section) + key;
    const Key* row = s.table().find(path);
    if (row != nullptr && row->treatment == Treatment::obeyed && !value.is_null() && !s.given(path))
      s.resolve(path, value, from ? "lora.adapter" : "default");
  }
  if (from) s.resolve("lora.adapter", lora.from, s.at("lora.adapter").source);
  model.lora = std::move(lora);
  if (model.weights.empty())
    s.error(missing, "model.from", "adapters are trained on a model with weights. Set model.from");
}

void check_quantize(Settings& s, const ModelConfig& model, ErrorList& errors) {
  const std::string key = "model.quantize";
  if (!s.sound({key, "model"}) || s.string(key) == "none") return;
  if (model.weights.empty())
    return s.error(errors, key, "it keeps the weights of files in few bits. Set model.from");
  if (!model.lora)
    return s.error(errors, key,
                   "weights in few bits are frozen: adapters are trained on them. Add a section "
                   "lora, or leave this out");
  if (s.boolean("fp8.enabled"))
    s.error(errors, key, "fp8.enabled multiplies plain weights in 8 bits. Leave out one of them");
}

}  // namespace triax
