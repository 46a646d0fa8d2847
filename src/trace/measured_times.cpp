// SPDX-License-Identifier: Apache-2.0
#include "src/trace/measured_times.hpp"

#include <algorithm>

#include "src/trace/transfers.hpp"

namespace triax {
namespace {

// Whether the instruction does nothing but wait for a transfer.
bool only_waits(const Op& op) {
  const auto transfer = transfer_of(op);
  return (transfer && !transfer->begins) || op.kind == OpKind::ExchangeEnd;
}

// Whether all stages that execute the instruction meet there.
bool is_meeting(const Op& op) {
  return op.kind == OpKind::GradientNorm || op.kind == OpKind::TiedSum;
}

}  // namespace

void OpDurations::add(double seconds) {
  least = count == 0 ? seconds : std::min(least, seconds);
  most = std::max(most, seconds);
  sum += seconds;
  ++count;
}

std::vector<std::vector<OpDurations>> durations(const RunTrace& trace,
                                                const std::vector<int>& stages,
                                                const Plans& plans) {
  std::vector<std::vector<OpDurations>> all;
  for (const Plan& plan : plans) all.emplace_back(plan.size());
  for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank)
    for (const TracedOp& op : trace.ranks[rank].ops)
      all[static_cast<std::size_t>(stages[rank])][static_cast<std::size_t>(op.position)].add(
          op.seconds());
  return all;
}

MeasuredTimes::MeasuredTimes(const RunTrace& trace, const std::vector<int>& stages,
                             const Plans& plans)
    : seconds_(plans.size()) {
  const auto all = durations(trace, stages, plans);
  std::map<OpKind, double> meetings;  // least durations: of a rank that came last
  for (std::size_t stage = 0; stage < plans.size(); ++stage)
    for (std::size_t at = 0; at < plans[stage].size(); ++at)
      if (const Op& op = plans[stage][at]; is_meeting(op)) {
        const auto [found, is_new] = meetings.try_emplace(op.kind, all[stage][at].least);
        found->second = std::min(found->second, all[stage][at].least);
      }
  for (std::size_t stage = 0; stage < plans.size(); ++stage)
    for (std::size_t at = 0; at < plans[stage].size(); ++at) {
      const Op& op = plans[stage][at];
      // An instruction that the plan has more than once: all of them have the last one's duration.
      seconds_[stage][op] = only_waits(op)   ? 0.0
                            : is_meeting(op) ? meetings[op.kind]
                                             : all[stage][at].mean();
    }
}

OpTime MeasuredTimes::of(int stage, const Op& op) const {
  const auto& stage_seconds = seconds_[static_cast<std::size_t>(stage)];
  const auto found = stage_seconds.find(op);
  return {.holds = found == stage_seconds.end() ? 0.0 : found->second};
}

}  // namespace triax
