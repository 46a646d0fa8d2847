// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/groups.hpp"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>
#include <vector>

#include "kernels/base/check.hpp"
#include "src/config/source/spelling.hpp"
#include "src/model/stage/stage.hpp"

namespace triax {
namespace {

bool matches(const OptimizerGroup& group, const std::string& tensor) {
  return fnmatch(group.match.c_str(), tensor.c_str(), 0) == 0;
}

// Index of the first group that matches; -1: none.
int group_of(const OptimizerConfig& config, const std::string& tensor) {
  const auto found = std::ranges::find_if(
      config.groups, [&](const OptimizerGroup& group) { return matches(group, tensor); });
  return found == config.groups.end() ? -1 : static_cast<int>(found - config.groups.begin());
}

// The pattern of a tensor and its like in other blocks: * for each number.
std::string with_any_number(const std::string& tensor) {
  std::string pattern;
  for (const char c : tensor) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    const char next = digit ? '*' : c;
    if (!digit || pattern.empty() || pattern.back() != '*') pattern += next;
  }
  return pattern;
}

// Longest text of a pattern without wildcards.
std::string longest_text(const std::string& pattern) {
  std::string longest, text;
  for (const char c : pattern + "*") {
    if (std::string("*?[]").find(c) == std::string::npos) {
      text += c;
      continue;
    }
    if (text.size() > longest.size()) longest = text;
    text.clear();
  }
  return longest;
}

// Edits from `text` to the part of `name` that is most like it.
std::size_t edits_within(const std::string& text, const std::string& name) {
  std::size_t least = edits(text, name);
  for (std::size_t at = 0; at + text.size() <= name.size(); ++at)
    least = std::min(least, edits(text, name.substr(at, text.size())));
  return least;
}

std::vector<std::string> nearest_tensors(const std::string& pattern, const ModelConfig& model) {
  constexpr std::size_t shown = 3;
  const std::string text = longest_text(pattern);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const GlobalTensor& tensor : global_tensors(model)) {
    std::string name = with_any_number(tensor.name);
    if (std::ranges::find(found, name, &std::pair<std::size_t, std::string>::second) == found.end())
      found.emplace_back(edits_within(text, tensor.name), std::move(name));
  }
  std::ranges::stable_sort(found, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> names;
  for (std::size_t n = 0; n < std::min(shown, found.size()); ++n) names.push_back(found[n].second);
  return names;
}

}  // namespace

TensorOptions tensor_options(const OptimizerConfig& config, const std::string& tensor,
                             bool decays) {
  TensorOptions options{1.0, decays ? config.weight_decay : 0.0};
  const int index = group_of(config, tensor);
  if (index < 0) return options;
  const OptimizerGroup& group = config.groups[static_cast<std::size_t>(index)];
  options.rate = group.rate;
  options.weight_decay = group.weight_decay.value_or(options.weight_decay);
  return options;
}

void check_groups_match(const OptimizerConfig& config, const ModelConfig& model) {
  if (config.groups.empty()) return;
  std::vector<int> tensors(config.groups.size(), 0), taken = tensors;
  for (const GlobalTensor& tensor : global_tensors(model)) {
    const int first = group_of(config, tensor.name);
    for (std::size_t g = 0; g < config.groups.size(); ++g)
      if (matches(config.groups[g], tensor.name))
        ++(static_cast<int>(g) == first ? tensors : taken)[g];
  }
  for (std::size_t g = 0; g < config.groups.size(); ++g) {
    if (tensors[g] > 0) continue;
    const std::string problem = fmt::format("optimizer.groups: group {}, \"{}\", has no tensor",
                                            g + 1, config.groups[g].match);
    if (taken[g] > 0)
      throw UsageError(problem,
                       "earlier groups match all that it matches, and the first match counts",
                       "Move it before them, or leave it out");
    throw UsageError(problem, "its pattern matches no name of the model",
                     fmt::format("Nearest: {}",
                                 fmt::join(nearest_tensors(config.groups[g].match, model), ", ")));
  }
}

}  // namespace triax
