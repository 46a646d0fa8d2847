// SPDX-License-Identifier: Apache-2.0
#pragma once
// Report of `triax doctor`: the facts of all ranks and the findings, as text or JSON.
#include <string>
#include <vector>

#include "src/doctor/diagnosis.hpp"

namespace triax::doctor {

/// Report of one screen. `job_end`: line about the job's time; empty: none.
std::string report_text(const std::vector<RankFacts>& ranks, const std::vector<Finding>& findings,
                        const std::string& job_end);

/// {"ranks": [...], "findings": [{"problem", "text", "remedy"}], "job_end"}.
std::string report_json(const std::vector<RankFacts>& ranks, const std::vector<Finding>& findings,
                        const std::string& job_end);

}  // namespace triax::doctor
