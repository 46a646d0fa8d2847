// SPDX-License-Identifier: Apache-2.0
#include "src/report/step_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace triax {

std::vector<GanttRow> measured_rows(const RunTrace& trace, std::size_t most) {
  std::vector<GanttRow> rows;
  std::int64_t first_step = std::numeric_limits<std::int64_t>::max();
  double zero = std::numeric_limits<double>::max();
  for (const RankTrace& rank : trace.ranks)
    if (!rank.ops.empty()) first_step = std::min(first_step, rank.ops.front().step);
  for (const RankTrace& rank : trace.ranks)
    for (const TracedOp& op : rank.ops)
      if (op.step == first_step) zero = std::min(zero, op.begin);
  for (std::size_t rank = 0; rank < std::min(most, trace.ranks.size()); ++rank) {
    GanttRow row{fmt::format("rank {}", rank), {}};
    for (const TracedOp& op : trace.ranks[rank].ops)
      if (op.step == first_step)
        row.bars.push_back({gantt_kind(op.name), op.begin - zero, op.end - zero, op.name});
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<GanttRow> predicted_rows(const TracedJob& job, const Timeline& predicted,
                                     std::size_t most) {
  std::vector<GanttRow> rows;
  for (std::size_t stage = 0; stage < std::min(most, predicted.stages.size()); ++stage) {
    GanttRow row{fmt::format("stage {}", stage), {}};
    const Plan& plan = job.plans.training[stage];
    for (const auto* list : {&predicted.stages[stage].intervals, &predicted.stages[stage].waits})
      for (const OpInterval& one : *list) {
        const std::string name = text_of(plan[one.position]);
        row.bars.push_back({gantt_kind(name), one.begin, one.end, name});
      }
    std::ranges::stable_sort(row.bars, {}, &GanttBar::begin);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace triax
