// SPDX-License-Identifier: Apache-2.0
#pragma once
// Size of a job before its plan is made.
#include "src/config/config.hpp"

namespace triax {

/// Number of parameters of a model; tied ones count once. Extrapolated from models of one and two
/// blocks, so the time does not depend on the number of blocks.
double count_parameters(const ModelConfig& model);

/// Approximate bytes needed to make a plan: its instructions for forward and backward passes and
/// for sub-groups of offloaded state. A double, because it may not fit an int64.
double planning_bytes(const Config& config);

}  // namespace triax
