// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/adapter_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "io/safetensors/safetensors.hpp"
#include "kernels/base/check.hpp"
#include "src/config/config.hpp"
#include "src/config/lora/lora.hpp"
#include "src/state/weights/adapter_weights.hpp"

namespace triax {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

json read_config(const std::string& directory) {
  const fs::path path = fs::path(directory) / adapter_config_name;
  std::ifstream file(path);
  json config = json::parse(file, nullptr, false);
  if (!config.is_object())
    throw UsageError(fmt::format("{} holds no adapter", directory),
                     fmt::format("its {} is absent or cannot be read", adapter_config_name),
                     "Name a folder that PEFT or triax wrote");
  return config;
}

SafetensorsReader open_weights(const std::string& directory) {
  const std::string path = (fs::path(directory) / adapter_weights_name).string();
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    throw UsageError(fmt::format("{} holds no adapter", directory),
                     fmt::format("it has no {}", adapter_weights_name),
                     "Name a folder that PEFT or triax wrote");
  return SafetensorsReader(path);
}

std::vector<float> values_of(const SafetensorsReader& reader, const std::string& name) {
  std::vector<float> values(static_cast<std::size_t>(reader.entry(name).shape.elements()));
  reader.read(name, 0, Tensor(values.data(), {std::ssize(values)}));
  return values;
}

double norm_of(const std::vector<float>& values) {
  double squares = 0.0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

std::string without_prefix(const std::string& name) {
  const std::string start = adapter_prefix;
  return name.starts_with(start) ? name.substr(start.size()) : name;
}

AdaptedModule module_of(const SafetensorsReader& reader, const std::string& prefix,
                        const std::string& directory, const json& config) {
  const std::string a = prefix + lora_a_suffix, b = prefix + lora_b_suffix;
  if (!reader.contains(b) || reader.entry(b).shape.rank() != 2 ||
      reader.entry(a).shape.rank() != 2 || reader.entry(b).shape[1] != reader.entry(a).shape[0])
    throw Error(fmt::format("{}: {} has no B of its rank", directory, a), "the file is damaged",
                "Save or fetch the adapter again");
  AdaptedModule module;
  module.name = without_prefix(prefix);
  module.rank = reader.entry(a).shape[0];
  module.inputs = reader.entry(a).shape[1];
  module.outputs = reader.entry(b).shape[0];
  module.scale = lora_scale(config, module.name, static_cast<int>(module.rank));
  module.a_norm = norm_of(values_of(reader, a));
  module.b_norm = norm_of(values_of(reader, b));
  module.finite = std::isfinite(module.a_norm) && std::isfinite(module.b_norm);
  if (const std::string m = prefix + lora_magnitude_suffix; reader.contains(m)) {
    module.magnitude_norm = norm_of(values_of(reader, m));
    module.finite &= std::isfinite(*module.magnitude_norm);
  }
  return module;
}

// Whether a tensor is of a module that the configuration says was trained whole.
bool is_saved(const json& config, const std::string& name) {
  const std::string tensor = without_prefix(name);
  return is_trained_whole(config, tensor.substr(0, tensor.rfind('.')));
}

SavedTensor saved_tensor(const SafetensorsReader& reader, const std::string& name) {
  const double norm = norm_of(values_of(reader, name));
  return {without_prefix(name), reader.entry(name).shape, norm, std::isfinite(norm)};
}

// Keys that say where an adapter comes from, not what it is.
bool matters(const std::string& key) {
  static const std::set<std::string> said = {
      "base_model_name_or_path", "inference_mode", "peft_version", "revision", "auto_mapping",
      "megatron_core",           "runtime_config"};
  return !said.contains(key);
}

void add_key_differences(std::vector<std::string>& lines, const json& a, const json& b) {
  std::set<std::string> keys;
  for (const json* each : {&a, &b})
    for (const auto& [key, value] : each->items()) keys.insert(key);
  for (const std::string& key : keys) {
    json one = a.value(key, json()), other = b.value(key, json());
    for (json* each : {&one, &other})
      if (each->is_array()) std::sort(each->begin(), each->end());  // of a Python set
    if (matters(key) && one != other)
      lines.push_back(fmt::format("{}: {} and {}", key, one.dump(), other.dump()));
  }
}

}  // namespace

AdapterFacts adapter_facts(const std::string& directory) {
  AdapterFacts facts{.config = read_config(directory)};
  const SafetensorsReader reader = open_weights(directory);
  for (const auto& [name, entry] : reader.entries()) {
    if (name.ends_with(lora_a_suffix)) {
      const std::string prefix = name.substr(0, name.size() - std::string(lora_a_suffix).size());
      facts.modules.push_back(module_of(reader, prefix, directory, facts.config));
      facts.parameters +=
          entry.shape.elements() + reader.entry(prefix + lora_b_suffix).shape.elements();
      facts.type = entry.dtype;
    } else if (name.ends_with(lora_magnitude_suffix)) {
      facts.parameters += entry.shape.elements();
    } else if (is_saved(facts.config, name)) {
      facts.saved.push_back(saved_tensor(reader, name));
      facts.parameters += entry.shape.elements();
    } else if (!name.ends_with(lora_b_suffix)) {
      facts.others.push_back(name);
    }
  }
  return facts;
}

std::vector<std::string> adapter_diff(const std::string& a, const std::string& b) {
  std::vector<std::string> lines;
  add_key_differences(lines, read_config(a), read_config(b));
  const SafetensorsReader one = open_weights(a), other = open_weights(b);
  for (const auto& [name, entry] : one.entries()) {
    if (!other.contains(name)) {
      lines.push_back(fmt::format("{}: only in {}", name, a));
      continue;
    }
    if (other.entry(name).shape != entry.shape) {
      lines.push_back(fmt::format("{}: shape {} and {}", name, entry.shape.text(),
                                  other.entry(name).shape.text()));
      continue;
    }
    const std::vector<float> x = values_of(one, name), y = values_of(other, name);
    double largest = 0.0, squares = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double difference = std::abs(static_cast<double>(x[i]) - y[i]);
      largest = std::max(largest, difference);
      squares += difference * difference;
    }
    if (x != y)
      lines.push_back(fmt::format("{}: differs by at most {:.3g}, in L2 by {:.3g} of {:.3g}", name,
                                  largest, std::sqrt(squares), norm_of(x)));
  }
  for (const auto& [name, entry] : other.entries())
    if (!one.contains(name)) lines.push_back(fmt::format("{}: only in {}", name, b));
  return lines;
}

}  // namespace triax
