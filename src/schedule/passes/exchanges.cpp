// Where messages stand that match by their order (NCCL). Every compute instruction has a slot of
// time (Timetable). A message has the slot of the instruction that makes what is sent as its time,
// at both ends: an exchange of time t has all messages of the stage that are made in slot t, here
// or elsewhere, and stands behind the stage's last instruction of slot t or before. So the sender
// has it right behind what makes it, and the receiver before what reads it, which is in slot t + 1
// or later.
//
// Proof: order the exchanges of all stages by time. Both ends of a message are in exchanges of one
// time, and each stage has one of a time at most, in order. The exchange of time t waits for those
// of its neighbours, and these for instructions of slots up to t and exchanges before t: no circle,
// even if a stage does one thing after another, an exchange as a whole among them, and what the
// ranks of a stage do together in between, in the order of their one plan.
//
// A stage makes one message a slot at most: no two of an exchange go from one stage to the same
// other, and their order within it does not matter.
#include <map>
#include <utility>

#include "src/schedule/passes/passes.hpp"
#include "src/schedule/passes/timetable.hpp"

namespace triax {
namespace {

// The messages of a stage by time.
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

// One stage's plan with its messages.
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
  // Those up to there, between two compute instructions; what was sent before the first of the two
  // has had its time beside it.
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
  Exchanges exchanges_;  // to come
  Plan sent_;            // the waits for what is on its way
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
