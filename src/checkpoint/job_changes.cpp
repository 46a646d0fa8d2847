// SPDX-License-Identifier: Apache-2.0
#include "src/checkpoint/job_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "src/config/source/absolute_path.hpp"

namespace triax {
namespace {
using nlohmann::json;

// Sections whose values change the result of a training run. Grid, micro-batch and directories do
// not; run.steps is meant to grow.
constexpr const char* sections[] = {"bf16",
                                    "bfloat16",
                                    "data",
                                    "data_types",
                                    "fp16",
                                    "fp8",
                                    "freeze",
                                    "gradient_clipping",
                                    "gradient_clipping_value",
                                    "loss",
                                    "neftune_noise_alpha",
                                    "optimizer",
                                    "scheduler",
                                    "train_batch_size",
                                    "train_only"};

void flatten(const std::string& path, const json& node, std::map<std::string, json>& values) {
  if (!node.is_object()) {
    values[path] = node;
    return;
  }
  for (const auto& [key, value] : node.items())
    flatten(fmt::format("{}.{}", path, key), value, values);
}

std::map<std::string, json> values_of(const json& job) {
  std::map<std::string, json> values;
  for (const char* section : sections)
    if (job.contains(section)) flatten(section, job[section], values);
  // Dropout alone may change: other adapters are an error (adapter_differences).
  if (job.contains("lora") && job["lora"].is_object())
    values["lora.lora_dropout"] = job["lora"].value("lora_dropout", json(0.0));
  if (job.contains("model") && job["model"].is_object())
    values["model.quantize"] = job["model"].value("quantize", json("none"));
  for (const char* key : {"seed", "ema"})
    if (job.contains("run") && job["run"].contains(key))
      flatten(fmt::format("run.{}", key), job["run"][key], values);
  return values;
}

json value_of(const std::map<std::string, json>& values, const std::string& path) {
  const auto found = values.find(path);
  return found == values.end() ? json() : found->second;
}

std::string shown(const std::map<std::string, json>& values, const std::string& path) {
  const auto found = values.find(path);
  return found == values.end() ? "none"
                               : found->second.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Components of a path after its last "..", without ".".
std::string behind_dots(const std::string& path) {
  std::filesystem::path rest;
  for (const auto& part : std::filesystem::path(path))
    if (part == "..")
      rest.clear();
    else if (part != ".")
      rest /= part;
  return rest.string();
}

// Whether two paths may name one file, seen from different directories: "text.txt", "../text.txt"
// and "/home/me/text.txt".
bool same_file(const std::string& a, const std::string& b) {
  if (std::filesystem::path(a).is_absolute() && std::filesystem::path(b).is_absolute())
    return absolute_path(a) == absolute_path(b);
  const std::string x = behind_dots(a), y = behind_dots(b);
  return x == y || x.ends_with("/" + y) || y.ends_with("/" + x);
}

bool same(const std::string& path, const json& a, const json& b) {
  if (a == b) return true;
  if ((path != "data.train" && path != "data.valid") || !a.is_array() || !b.is_array())
    return false;
  return std::ranges::equal(a, b, [](const json& x, const json& y) {
    return x.is_string() && y.is_string() && same_file(x.get<std::string>(), y.get<std::string>());
  });
}

// Whether the tokenizer is the same, as far as both jobs say. Its hash decides, not its path.
bool same_tokenizer(const std::string& path, const json& a, const json& b) {
  return path == "data.tokenizer" ||
         (path == "data.tokenizer_hash" && (a.is_null() || b.is_null()));
}

// Whether only one of two types of optimizer has the key: the change of type says it all.
bool of_one_type(const std::map<std::string, json>& before, const std::map<std::string, json>& now,
                 const std::string& path) {
  const std::string type = "optimizer.type";
  return path.starts_with("optimizer.params.") && value_of(before, type) != value_of(now, type) &&
         before.contains(path) != now.contains(path);
}

// Whether the value of data.train has sources, whose changes resume_data() tells.
bool has_sources(const json& value) {
  return value.is_array() &&
         std::ranges::any_of(value, [](const json& each) { return each.is_object(); });
}

std::vector<std::string> texts(const json& value) {
  std::vector<std::string> all;
  for (const json& each : value)
    if (each.is_string()) all.push_back(each.get<std::string>());
  return all;
}

}  // namespace

std::vector<std::vector<std::string>> training_files(const std::string& job) {
  const json root = json::parse(job, nullptr, false);
  const json::json_pointer place("/data/train");
  if (!root.is_object() || !root.contains(place)) return {};
  const json& value = root[place];
  if (!has_sources(value)) return {texts(value)};
  std::vector<std::vector<std::string>> sources;
  for (const json& source : value)
    sources.push_back(source.is_object() ? texts(source.value("paths", json()))
                                         : std::vector<std::string>{});
  return sources;
}

bool same_files(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::ranges::equal(a, b, same_file);
}

bool same_training_data(const std::string& there, const std::string& here) {
  const auto split = [](const std::string& job) {
    const json root = json::parse(job, nullptr, false);
    json values = json::array();
    for (const char* key : {"/data/validation_fraction", "/data/train_rows"}) {
      const json::json_pointer place(key);
      values.push_back(root.is_object() && root.contains(place) ? root[place] : json());
    }
    return values;
  };
  return split(there) == split(here) &&
         std::ranges::equal(training_files(there), training_files(here), same_files);
}

bool same_losses(const std::string& there, const std::string& here) {
  const json before = json::parse(there, nullptr, false);
  const json now = json::parse(here, nullptr, false);
  if (!before.is_object() || before.empty() || !now.is_object()) return true;
  constexpr std::array sections_of_losses = {"bf16", "bfloat16", "data_types",
                                             "fp16", "fp8",      "loss"};
  return std::ranges::all_of(sections_of_losses, [&](const char* section) {
    return before.value(section, json()) == now.value(section, json());
  });
}

std::vector<std::string> job_changes(const std::string& there, const std::string& here) {
  const json before = json::parse(there, nullptr, false);
  const json now = json::parse(here, nullptr, false);
  if (!before.is_object() || before.empty() || !now.is_object()) return {};  // empty: an import
  const auto old_values = values_of(before);
  const auto new_values = values_of(now);
  auto all = new_values;
  all.insert(old_values.begin(), old_values.end());
  std::vector<std::string> lines;
  for (const auto& [path, value] : all) {
    const json before_value = value_of(old_values, path), value_now = value_of(new_values, path);
    if (same(path, before_value, value_now)) continue;
    if (same_tokenizer(path, before_value, value_now)) continue;
    if (path == "data.train" && (has_sources(before_value) || has_sources(value_now))) continue;
    if (of_one_type(old_values, new_values, path)) continue;
    const std::string from = shown(old_values, path);
    const std::string to = shown(new_values, path);
    lines.push_back(fmt::format("resumed with another {}: {} in the checkpoint, {} now{}", path,
                                from, to,
                                path == "data.validation_fraction"
                                    ? ": lines that have trained may be among those that validate"
                                    : ""));
  }
  return lines;
}

}  // namespace triax
