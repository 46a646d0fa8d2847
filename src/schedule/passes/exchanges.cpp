// SPDX-License-Identifier: Apache-2.0
// Positions of messages that match by order (NCCL). Every compute instruction has a time slot
// (Timetable). The time of a message is, at both ends, the slot of the instruction that makes its
// data. The exchange of time t holds all messages of the stage with time t, and follows the stage's
// last instruction of slot t or before. So the sender exchanges right after the instruction that
// makes the data, and the receiver before the one that reads it, which has slot t + 1 or later.
//
// Proof: order the exchanges of all stages by time. Both ends of a message are in exchanges of the
// same time, and each stage has at most one exchange per time, in order. The exchange of time t
// waits for those of its neighbours, and these for instructions of slots up to t and exchanges
// before t. So no cycle exists, even if a stage does one thing at a time, where an exchange and a
// collective within the stage (in the order of its one plan) each count as one thing.
//
// A stage makes at most one message per slot. So no two messages of an exchange go from one stage
// to the same other stage, and their order within it does not matter.
#include <map>
#include <utility>

#include "src/schedule/passes/passes.hpp"
#include "src/schedule/passes/timetable.hpp"

namespace triax {
namespace {

// Message starts of a stage by time.
using Exchanges = std::map<int, Plan>;

std::vector<Exchanges> exchanges_of(const Plans& plans, const PlanShape& shape,
                                    const Timetable& timetable) {
  std::vector<Exchanges> all(plans.size());
  if (shape.stages == 1) return all;
  for (int s = 0; s < shape.stages; ++s)
    for (const Op& op : plans[s])
      if (const auto user = timetable.user(s, op)) {
        const int time = timetable.slot(s, op);
        all[s][time].push_back(send_start(op));
        all[user->stage][time].push_back(receive_start(user->op));
      }
  return all;
}

// Writes one stage's plan with its messages.
class ExchangeWriter {
 public:
  ExchangeWriter(const PlanShape& shape, int stage, const Timetable& timetable, Exchanges exchanges)
      : stage_(stage),
        layout_(shape, stage),
        timetable_(timetable),
        exchanges_(std::move(exchanges)) {}

  Plan write(const Plan& compute) {
    for (const Op& op : compute) {
      exchange(exchanges_.lower_bound(timetable_.slot(stage_, op)));
      wait_receive(op);
      plan_.push_back(op);
    }
    exchange(exchanges_.end());
    wait_sends();
    return std::move(plan_);
  }

 private:
  // Writes the exchanges before `end`, between two compute instructions. Earlier sends end first:
  // they had the first of the two instructions to overlap with.
  void exchange(Exchanges::iterator end) {
    if (end != exchanges_.begin()) wait_sends();
    for (auto next = exchanges_.begin(); next != end; next = exchanges_.erase(next)) {
      plan_.push_back({OpKind::ExchangeBegin});
      plan_.insert(plan_.end(), next->second.begin(), next->second.end());
      plan_.push_back({OpKind::ExchangeEnd});
      for (const Op& op : next->second) note(op);
    }
  }

  void note(Op op) {
    if (op.kind == OpKind::SendActivationStart)
      op.kind = OpKind::SendActivationWait;
    else if (op.kind == OpKind::SendGradientStart)
      op.kind = OpKind::SendGradientWait;
    else
      return;
    sent_.push_back(op);
  }
  void wait_sends() {
    plan_.insert(plan_.end(), sent_.begin(), sent_.end());
    sent_.clear();
  }
  void wait_receive(const Op& op) {
    if (receives(layout_, op)) plan_.push_back(receive_wait(op));
  }

  int stage_;
  StageLayout layout_;
  const Timetable& timetable_;
  Exchanges exchanges_;  // not yet written
  Plan sent_;            // waits for sends in flight
  Plan plan_;
};

}  // namespace

Plans add_exchanges(const Plans& plans, const PlanShape& shape) {
  const Timetable timetable(plans, shape);
  std::vector<Exchanges> exchanges = exchanges_of(plans, shape, timetable);
  Plans out;
  for (int s = 0; s < shape.stages; ++s)
    out.push_back(ExchangeWriter(shape, s, timetable, std::move(exchanges[s])).write(plans[s]));
  return out;
}

}  // namespace triax
