// SPDX-License-Identifier: Apache-2.0
#include "src/commands/options/grid_overrides.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "kernels/base/check.hpp"
#include "src/config/source/spelling.hpp"

namespace triax {
namespace {

struct Sizes {
  GridShape shape;
  bool data_is_given = false;
};

[[noreturn]] void refuse(const std::string& key, const nlohmann::json& value, const char* wanted) {
  throw UsageError(fmt::format("--set {}={}: it must be {}", key, value.dump(), wanted), {},
                   "Correct the value");
}

int size_of(const std::string& key, const nlohmann::json& value) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < 1 ||
      value.get<std::int64_t>() > 1 << 20)
    refuse(key, value, "a number of ranks from 1");
  return value.get<int>();
}

struct GridKey {
  const char* name;
  void (*set)(const std::string& key, const nlohmann::json& value, Sizes& sizes);
};

constexpr std::array<GridKey, 5> grid_keys = {{
    {"parallel.tensor", [](const std::string& key, const nlohmann::json& value,
                           Sizes& sizes) { sizes.shape.tensor = size_of(key, value); }},
    {"parallel.pipeline", [](const std::string& key, const nlohmann::json& value,
                             Sizes& sizes) { sizes.shape.pipeline = size_of(key, value); }},
    {"parallel.data",
     [](const std::string& key, const nlohmann::json& value, Sizes& sizes) {
       if (value == "auto") return;
       sizes.shape.data = size_of(key, value);
       sizes.data_is_given = true;
     }},
    {"parallel.order",
     [](const std::string& key, const nlohmann::json& value, Sizes& sizes) {
       if (!value.is_string()) refuse(key, value, "a text as \"data,pipeline,tensor\"");
       sizes.shape.order = parse_axis_order(value.get<std::string>());
     }},
    {"parallel.tensor_across_nodes",
     [](const std::string& key, const nlohmann::json& value, Sizes& sizes) {
       if (!value.is_boolean()) refuse(key, value, "true or false");
       sizes.shape.tensor_across_nodes = value.get<bool>();
     }},
}};

[[noreturn]] void refuse_key(const std::string& key) {
  std::vector<std::string> names;
  for (const GridKey& known : grid_keys) names.emplace_back(known.name);
  throw UsageError(fmt::format("--set {}: this command has no such key", key),
                   fmt::format("nearest: {}", nearest_word(key, names)),
                   "Set keys of the grid alone");
}

}  // namespace

GridShape grid_of_overrides(const std::vector<std::string>& overrides, int ranks) {
  Sizes sizes;
  for (const std::string& one : overrides) {
    const std::size_t equals = one.find('=');
    if (equals == one.npos)
      throw UsageError(fmt::format("--set {} has no =", one), {}, "Write KEY=VALUE");
    const std::string key = one.substr(0, equals), text = one.substr(equals + 1);
    nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
    if (value.is_discarded()) value = text;
    const auto found = std::ranges::find(grid_keys, key, &GridKey::name);
    if (found == grid_keys.end()) refuse_key(key);
    found->set(key, value, sizes);
  }
  if (!sizes.data_is_given)
    sizes.shape.data = std::max(1, ranks / (sizes.shape.tensor * sizes.shape.pipeline));
  return sizes.shape;
}

}  // namespace triax
