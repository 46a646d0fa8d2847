// SPDX-License-Identifier: Apache-2.0
#include "src/config/keys/key_table.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "src/config/keys/key_inference.hpp"
#include "src/config/source/spelling.hpp"

namespace triax {
namespace {

bool in_scope(const Key& key, const std::string& type) {
  return key.scope.empty() || std::ranges::find(key.scope, type) != key.scope.end();
}

std::string leaf(const std::string& path) {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? path : path.substr(dot + 1);
}

// The right name in the wrong section counts as two edits.
std::size_t distance(const std::string& a, const std::string& b) {
  return std::min(edits(a, b), 2 * edits(leaf(a), leaf(b)) + 2);
}

// Section of a key with its dot: "fp8." for fp8.enabled; empty at the top level.
std::string section_of(const std::string& path) {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? std::string() : path.substr(0, dot + 1);
}

}  // namespace

std::string discriminator(const std::string& path) {
  if (path.starts_with("model.")) return "model.architecture";
  if (path.starts_with("optimizer.params.")) return "optimizer.type";
  if (path.starts_with("scheduler.params.")) return "scheduler.type";
  return {};
}

KeyTable::KeyTable() {
  for (auto* section : {model_keys, job_keys, lora_keys, training_keys, memory_keys, inference_keys,
                        serve_keys, deepspeed_keys, technique_keys})
    std::ranges::move(section(), std::back_inserter(keys_));
  for (const auto& key : keys_) rows_[key.path].push_back(&key);
}

std::vector<const Key*> KeyTable::rows(const std::string& path) const {
  if (const auto found = rows_.find(path); found != rows_.end()) return found->second;
  for (auto dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1))
    if (const auto all = rows_.find(path.substr(0, dot) + ".*"); all != rows_.end())
      return all->second;
  return {};
}

const Key* KeyTable::find(const std::string& path, const std::string& type) const {
  for (const auto* key : rows(path))
    if (in_scope(*key, type)) return key;
  return nullptr;
}

const Key* KeyTable::find(const std::string& path) const {
  const auto all = rows(path);
  return all.empty() ? nullptr : all.front();
}

bool KeyTable::is_section(const std::string& path) const {
  const auto prefix = path + ".";
  return std::ranges::any_of(keys_, [&](const Key& k) { return k.path.starts_with(prefix); });
}

namespace {

// The name here of a parameter that other programs call otherwise; empty: none is known.
std::string synonym_of(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> synonyms = {{
      {"learning_rate", "lr"},
      {"max_learning_rate", "max_lr"},
      {"epsilon", "eps"},
      {"adam_epsilon", "eps"},
      {"wd", "weight_decay"},
  }};
  const auto found = std::ranges::find(synonyms, name, &decltype(synonyms)::value_type::first);
  return found == synonyms.end() ? std::string() : std::string(found->second);
}

}  // namespace

std::string KeyTable::nearest(const std::string& path, const std::string& type) const {
  const std::string section_above = path.substr(0, path.rfind('.') + 1);
  if (const std::string name = synonym_of(path.substr(section_above.size())); !name.empty())
    if (find(section_above + name, type) != nullptr) return section_above + name;
  std::string best;
  std::size_t best_distance = 2 * path.size() + 200;
  const std::string section = section_of(path);
  const auto consider = [&](const std::string& candidate) {
    // Tie break: candidates in the section as written win.
    const auto d = 2 * distance(path, candidate) +
                   (!section.empty() && candidate.starts_with(section) ? 0 : 1);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  };
  for (const auto& key : keys_) {
    if (key.path.ends_with(".*") || key.treatment == Treatment::refused) continue;
    if (!type.empty() && discriminator(key.path) == discriminator(path) && !in_scope(key, type))
      continue;
    consider(key.path);
    for (auto dot = key.path.find('.'); dot != std::string::npos; dot = key.path.find('.', dot + 1))
      consider(key.path.substr(0, dot));
  }
  return best;
}

}  // namespace triax
