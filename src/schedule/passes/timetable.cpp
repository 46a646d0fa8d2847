// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/passes/timetable.hpp"

#include <algorithm>
#include <stdexcept>

namespace triax {

Timetable::Timetable(const Plans& plans, const PlanShape& shape)
    : stages_(shape.stages),
      last_(shape.stages * shape.chunks - 1),
      microbatches_(shape.microbatches),
      entries_(3 * (last_ + 1) * shape.microbatches) {
  std::vector<std::size_t> next(plans.size(), 0);
  for (bool progress = true; progress;) {
    progress = false;
    for (int s = 0; s < stages_; ++s)
      while (next[s] < plans[s].size() && enter(plans[s], next[s], s)) {
        ++next[s];
        progress = true;
      }
  }
  for (int s = 0; s < stages_; ++s)
    if (next[s] < plans[s].size())
      throw std::logic_error("stage " + std::to_string(s) + ": the input of " +
                             text_of(plans[s][next[s]]) + " is never made");
}

bool Timetable::enter(const Plan& plan, std::size_t position, int stage) {
  const Op& op = plan[position];
  const int before = position == 0 ? -1 : slot(stage, plan[position - 1]);
  const int source = is_weight_gradient(op) ? -1 : global(stage, op) - direction(op);
  int input = -1;
  if (source >= 0 && source <= last_) {
    input = entries_[index(op, source)].slot;
    if (input < 0) return false;
  }
  entries_[index(op, global(stage, op))] = {std::max(before, input) + 1, std::max(before, 0)};
  return true;
}

std::optional<Timetable::User> Timetable::user(int stage, const Op& op) const {
  const int chunk = global(stage, op) + direction(op);
  if (chunk < 0 || chunk > last_ || is_weight_gradient(op)) return std::nullopt;
  return User{chunk % stages_, {op.kind, chunk / stages_, op.layer, op.microbatch}};
}

}  // namespace triax
