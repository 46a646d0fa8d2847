// SPDX-License-Identifier: Apache-2.0
#include "src/model/families/families.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/base/check.hpp"
#include "src/model/families/rows.hpp"

namespace triax {
namespace {

constexpr const Family* table[] = {&families::gpt2,        &families::llama,   &families::qwen2,
                                   &families::qwen3,       &families::mistral, &families::gemma2,
                                   &families::gemma3_text, &families::phi3,    &families::olmo2,
                                   &families::olmo3,       &families::smollm3, &families::gpt_neox,
                                   &families::granite};

}  // namespace

std::span<const Family* const> all_families() {
  return table;
}

const Family* find_family(const std::string& name) {
  const auto* const found =
      std::ranges::find_if(table, [&](const Family* row) { return row->name == name; });
  return found == std::end(table) ? nullptr : *found;
}

const Family* find_family_of_class(const std::string& name) {
  const auto* const found = std::ranges::find_if(table, [&](const Family* row) {
    return std::ranges::find(row->classes, name) != row->classes.end();
  });
  return found == std::end(table) ? nullptr : *found;
}

const Family& family_of(const ModelConfig& model) {
  const Family* const found = find_family(model.architecture);
  check(found != nullptr, "no architecture is called \"{}\"", model.architecture);
  return *found;
}

std::string family_names() {
  std::string names;
  for (const Family* row : table) names += (names.empty() ? "" : ", ") + std::string(row->name);
  return names;
}

}  // namespace triax
