// SPDX-License-Identifier: Apache-2.0
#pragma once
// Diagnosis from the facts of all ranks: findings with a remedy, and the report. Arithmetic and
// text only.
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

/// Report of one screen. `job_end`: line about the job's time; empty: none.
std::string report_text(const std::vector<RankFacts>& ranks, const std::vector<Finding>& findings,
                        const std::string& job_end);

/// {"ranks": [...], "findings": [{"problem", "text", "remedy"}], "job_end"}.
std::string report_json(const std::vector<RankFacts>& ranks, const std::vector<Finding>& findings,
                        const std::string& job_end);

}  // namespace triax::doctor
