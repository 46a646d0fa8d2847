// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranks grouped by one of their facts.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "src/doctor/rank_facts.hpp"

namespace triax::doctor {

using Value = std::function<std::string(const RankFacts&)>;

/// Ranks grouped by `value`, the largest group first.
std::vector<std::pair<std::string, std::vector<int>>> by_value(const std::vector<RankFacts>& ranks,
                                                               const Value& value);

}  // namespace triax::doctor
