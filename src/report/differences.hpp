// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables of runs: what each has reached, and the keys in which their jobs differ.
#include <vector>

#include "src/report/html.hpp"
#include "src/report/run_data.hpp"

namespace triax {

/// A column per run: steps, tokens, losses, rates, time, memory.
HtmlTable summary_table(const std::vector<RunData>& runs);
/// A row per key of the jobs whose values are not all equal.
HtmlTable difference_table(const std::vector<RunData>& runs);

}  // namespace triax
