// SPDX-License-Identifier: Apache-2.0
#pragma once
// optimizer.groups: options of tensors by patterns of their names, as PyTorch's param_groups.
#include <cstdint>
#include <map>
#include <string>

#include "src/config/config.hpp"

namespace triax {

/// Updates that the run had made when the states of a tensor began at zero, by name: those tensors
/// that it froze at first.
using TensorStarts = std::map<std::string, std::int64_t>;

/// Options of an update that differ between tensors.
struct TensorOptions {
  double rate = 1.0;  // learning rate, as a factor of the run's
  double weight_decay = 0.0;
  std::int64_t start = 0;  // of TensorStarts
  bool operator==(const TensorOptions&) const = default;
};

/// Options of the tensor of that name: of the first group whose pattern matches it. A pattern is
/// fnmatch(3)'s: * matches any text, dots too. `decays`: by its shape, unless its group has a
/// decay.
TensorOptions tensor_options(const OptimizerConfig& config, const std::string& tensor, bool decays);

/// UsageError if a group has no trained tensor of the model.
void check_groups_match(const OptimizerConfig& config, const ModelConfig& model);

}  // namespace triax
