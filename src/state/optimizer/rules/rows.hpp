// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of the table of rules.hpp, each defined in a file of its name.
#include "src/state/optimizer/rules/rules.hpp"

namespace triax::rules {

extern const OptimizerRule adamw, adam, adamw_8bit, adan, lion, muon, sgd, adagrad;

}  // namespace triax::rules
