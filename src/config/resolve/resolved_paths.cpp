// SPDX-License-Identifier: Apache-2.0
#include "src/config/resolve/resolved_paths.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/config/keys/key_table.hpp"
#include "src/config/source/absolute_path.hpp"
#include "src/config/source/pattern.hpp"

namespace triax {
namespace {

void make_absolute(const Key& key, nlohmann::ordered_json& value) {
  if (value.is_array())
    for (auto& each : value) make_absolute(key, each);
  if (value.is_object() && value.contains("paths")) make_absolute(key, value["paths"]);
  if (!value.is_string()) return;
  const auto text = value.get<std::string>();
  if (key.is_word(text)) return;
  value = key.type == KeyType::path ? absolute_path(text)
                                    : pattern_of(absolute_path(name_of_pattern(text)));
}

}  // namespace

std::string with_absolute_paths(const std::string& job) {
  auto root = nlohmann::ordered_json::parse(job);
  const KeyTable table;
  for (const Key& key : table.keys()) {
    if (!holds_paths(key.type)) continue;
    std::string pointer = "/" + key.path;
    std::ranges::replace(pointer, '.', '/');
    if (const nlohmann::ordered_json::json_pointer at(pointer); root.contains(at))
      make_absolute(key, root[at]);
  }
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace triax
