// SPDX-License-Identifier: Apache-2.0
// Positions of messages that match by tag (MPI). Every compute instruction has a time slot
// (Timetable). The order within slot t of a stage is:
//   1. RecvStart for the next instruction      2. RecvWait for this one      3. the instruction
//   4. SendWait for earlier outputs            5. SendStart for this one's output
// A SendWait goes into the first slot with a send of its direction (or after the last slot) that is
// not before the slot of its RecvStart. So each event has a time (slot, 1..5) that grows along
// every stage, from a SendStart (slot t, 5) to its RecvWait (slot t + 1 or later), and from a
// RecvStart (slot t, 1) to its SendWait (slot t or later, 4): no cycle of waits exists, even if no
// message is buffered anywhere.
//
// In 1f1b, and in gpipe with one chunk, this is always the next slot with a send. In interleaved a
// few waits come later, because the peer would not have posted yet and the stage would stall. In
// gpipe with several chunks they must come later: the last stage's outputs wait until the first
// stage has finished its chunk, so stages that waited for them first would deadlock.
#include <deque>
#include <utility>

#include "src/schedule/passes/passes.hpp"
#include "src/schedule/passes/timetable.hpp"

namespace triax {
namespace {

// Writes one stage's plan with its messages.
class MessageWriter {
 public:
  MessageWriter(const PlanShape& shape, int stage, const Timetable& timetable)
      : stage_(stage), layout_(shape, stage), timetable_(timetable) {}

  Plan write(const Plan& compute) {
    if (!compute.empty()) start_receive(compute.front());
    for (std::size_t i = 0; i < compute.size(); ++i) {
      if (i + 1 < compute.size()) start_receive(compute[i + 1]);
      wait_receive(compute[i]);
      plan_.push_back(compute[i]);
      send(compute[i]);
    }
    for (const Op& op : sent_activations_) plan_.push_back(send_wait(op));
    for (const Op& op : sent_gradients_) plan_.push_back(send_wait(op));
    return std::move(plan_);
  }

 private:
  void start_receive(const Op& op) {
    if (receives(layout_, op)) plan_.push_back(receive_start(op));
  }
  void wait_receive(const Op& op) {
    if (receives(layout_, op)) plan_.push_back(receive_wait(op));
  }
  void send(const Op& op) {
    if (!sends(layout_, op)) return;
    const int now = timetable_.slot(stage_, op);
    auto& sent = is_forward(op) ? sent_activations_ : sent_gradients_;
    for (; !sent.empty() && timetable_.receive_slot(stage_, sent.front()) <= now; sent.pop_front())
      plan_.push_back(send_wait(sent.front()));
    plan_.push_back(send_start(op));
    sent.push_back(op);
  }

  int stage_;
  StageLayout layout_;
  const Timetable& timetable_;
  std::deque<Op> sent_activations_;  // instructions whose output is in flight
  std::deque<Op> sent_gradients_;
  Plan plan_;
};

}  // namespace

Plans add_point_to_point(const Plans& plans, const PlanShape& shape) {
  const Timetable timetable(plans, shape);
  Plans out;
  for (int s = 0; s < shape.stages; ++s)
    out.push_back(MessageWriter(shape, s, timetable).write(plans[s]));
  return out;
}

}  // namespace triax
