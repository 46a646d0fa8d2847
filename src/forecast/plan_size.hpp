// SPDX-License-Identifier: Apache-2.0
#pragma once
// Size of a job before its plan is made.
#include "src/config/config.hpp"

namespace triax {

/// Parameters of a model, tied ones once. From two models of one and two blocks: a million blocks
/// cost no more.
double count_parameters(const ModelConfig& model);

/// About what a plan is made from: its instructions, forward and backward and for parts of
/// offloaded state. A number that may not fit an int64.
double planning_bytes(const Config& config);

}  // namespace triax
