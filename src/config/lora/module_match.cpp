// SPDX-License-Identifier: Apache-2.0
#include "src/config/lora/module_match.hpp"

#include <algorithm>
#include <regex>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

std::regex compiled(const std::string& pattern) {
  try {
    return std::regex(pattern);
  } catch (const std::regex_error& error) {
    throw UsageError(fmt::format("\"{}\" is no regular expression", pattern), error.what(),
                     "Patterns are those of ECMAScript: as Python's, but for (?i) and the like");
  }
}

}  // namespace

bool matches_whole(const std::string& pattern, const std::string& name) {
  return std::regex_match(name, compiled(pattern));
}

bool names_module(const nlohmann::json& words, const std::string& module) {
  if (words.is_string()) return matches_whole(words.get<std::string>(), module);
  return words.is_array() && std::ranges::any_of(words, [&](const nlohmann::json& each) {
           const auto word = each.get<std::string>();
           return module == word || module.ends_with("." + word);
         });
}

bool saves_module(const nlohmann::json& words, const std::string& module) {
  if (words.is_string()) return module.ends_with(words.get<std::string>());
  return words.is_array() && std::ranges::any_of(words, [&](const nlohmann::json& each) {
           return module.ends_with(each.get<std::string>());
         });
}

bool pattern_names(const std::string& key, const std::string& module) {
  return matches_whole("(.*\\.)?(" + key + ")", module);
}

int block_of_module(const std::string& module, const std::vector<std::string>& parents) {
  std::smatch found;
  const auto number_after = [&](const std::string& parent) {
    return std::regex_search(module, found, compiled("^.*\\." + parent + "\\.(\\d+)\\."),
                             std::regex_constants::match_continuous);
  };
  if (parents.empty()) return number_after("[^.]*") ? std::stoi(found[found.size() - 1].str()) : -1;
  for (const std::string& parent : parents)
    if (number_after(parent)) return std::stoi(found[found.size() - 1].str());
  return -1;
}

}  // namespace triax
