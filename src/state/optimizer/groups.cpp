// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/groups.hpp"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <vector>

#include "kernels/base/check.hpp"
#include "src/model/stage/stage.hpp"
#include "src/model/stage/tensor_names.hpp"

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
  std::vector<int> tensors(config.groups.size(), 0), taken = tensors, frozen = tensors;
  for (const GlobalTensor& tensor : global_tensors(model)) {
    const int first = group_of(config, tensor.name);
    for (std::size_t g = 0; g < config.groups.size(); ++g)
      if (matches(config.groups[g], tensor.name))
        ++(!tensor.trained ? frozen : static_cast<int>(g) == first ? tensors : taken)[g];
  }
  for (std::size_t g = 0; g < config.groups.size(); ++g) {
    if (tensors[g] > 0) continue;
    const std::string problem = fmt::format("optimizer.groups: group {}, \"{}\", has no tensor",
                                            g + 1, config.groups[g].match);
    if (taken[g] > 0)
      throw UsageError(problem,
                       "earlier groups match all that it matches, and the first match counts",
                       "Move it before them, or leave it out");
    if (frozen[g] > 0)
      throw UsageError(problem, fmt::format("all that it matches are frozen ({})", frozen[g]),
                       "Leave it out, or train one of them (freeze, train_only)");
    throw UsageError(
        problem, "its pattern matches no name of the model",
        fmt::format("Nearest: {}", fmt::join(nearest_tensor_names(config.groups[g].match, model,
                                                                  PatternOf::tensors),
                                             ", ")));
  }
}

}  // namespace triax
