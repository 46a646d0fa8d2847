// SPDX-License-Identifier: Apache-2.0
#pragma once
// Diagnosis from the facts of all ranks: findings with a remedy. Arithmetic and text only.
#include <string>
#include <vector>

#include "src/doctor/rank_facts.hpp"

namespace triax::doctor {

struct Finding {
  bool problem = false;  // a run would fail, lose data or waste most of the machine; else a note
  std::string text;
  std::string remedy;
};

/// Problems first.
std::vector<Finding> findings(const std::vector<RankFacts>& ranks);

/// Whether any finding is a problem.
bool has_problem(const std::vector<Finding>& findings);

}  // namespace triax::doctor
