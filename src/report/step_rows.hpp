// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of the Gantt chart of a traced step: as it ran, and as its plan predicts it.
#include <string>
#include <vector>

#include "src/report/gantt.hpp"
#include "src/trace/prediction.hpp"

namespace triax {

/// The first traced step of the first ranks, `most` at most. Waiting has bars of its own kind.
std::vector<GanttRow> measured_rows(const RunTrace& trace, std::size_t most);
/// The stages of a predicted step, `most` at most.
std::vector<GanttRow> predicted_rows(const TracedJob& job, const Timeline& predicted,
                                     std::size_t most);

}  // namespace triax
