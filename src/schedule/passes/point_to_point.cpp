// Where messages stand. Let every compute instruction take one slot of time, and start as early as
// its input and its predecessor on the stage allow (Timetable). Within slot t of a stage stand, in
// this order:
//   1. RecvStart for the next instruction      2. RecvWait for this one      3. the instruction
//   4. SendWait for earlier outputs            5. SendStart for this one's output
// A SendWait is put into the first slot with a send of its direction (or after the last slot) that
// is not before the slot of its RecvStart. So each event has a time (slot, 1..5) that grows along
// every stage, from a SendStart (slot t, 5) to its RecvWait (slot t + 1 or later), and from a
// RecvStart (slot t, 1) to its SendWait (slot t or later, 4): no circle of waiting exists, even if
// no message is buffered anywhere.
//
// In 1f1b, and in gpipe with one chunk, this always is the next slot with a send. In interleaved a
// few waits come later, where the peer would not have posted yet and the stage would only stall. In
// gpipe with several chunks they must: the last stage's outputs wait until the first has finished
// its chunk, and stages that wait for them before they go on wait in a circle.
#include <algorithm>
#include <deque>
#include <stdexcept>

#include "src/schedule/passes.hpp"
#include "src/schedule/stage_layout.hpp"

namespace triax {
namespace {

bool is_forward(const Op& op) {
  return op.kind == OpKind::Forward;
}

// Slots of the chunk instructions of all stages.
class Timetable {
 public:
  Timetable(const Plans& plans, const PlanShape& shape)
      : stages_(shape.stages),
        last_(shape.stages * shape.chunks - 1),
        microbatches_(shape.microbatches),
        entries_(2 * (last_ + 1) * shape.microbatches) {
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

  int slot(int stage, const Op& op) const { return entries_[index(op, global(stage, op))].slot; }
  /// Slot in which the stage that takes the instruction's output posts the receive.
  int receive_slot(int stage, const Op& op) const {
    return entries_[index(op, global(stage, op) + direction(op))].receive_slot;
  }

 private:
  struct Entry {
    int slot = -1;
    int receive_slot = -1;
  };

  static int direction(const Op& op) { return is_forward(op) ? 1 : -1; }
  int global(int stage, const Op& op) const { return op.chunk * stages_ + stage; }
  int index(const Op& op, int global_chunk) const {
    return ((is_forward(op) ? 0 : last_ + 1) + global_chunk) * microbatches_ + op.microbatch;
  }

  // False where the input is not made yet.
  bool enter(const Plan& plan, std::size_t position, int stage) {
    const Op& op = plan[position];
    const int before = position == 0 ? -1 : slot(stage, plan[position - 1]);
    const int source = global(stage, op) - direction(op);
    int input = -1;
    if (source >= 0 && source <= last_) {
      input = entries_[index(op, source)].slot;
      if (input < 0) return false;
    }
    entries_[index(op, global(stage, op))] = {std::max(before, input) + 1, std::max(before, 0)};
    return true;
  }

  int stages_;
  int last_;  // the model's last global chunk
  int microbatches_;
  std::vector<Entry> entries_;  // by (forward or backward, global chunk, microbatch)
};

// One stage's plan with its messages.
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
    for (const Op& op : sent_activations_) push(OpKind::SendActivationWait, op);
    for (const Op& op : sent_gradients_) push(OpKind::SendGradientWait, op);
    return std::move(plan_);
  }

 private:
  bool receives(const Op& op) const {
    return is_forward(op) ? layout_.has_message_before(op.chunk)
                          : layout_.has_message_after(op.chunk);
  }
  bool sends(const Op& op) const {
    return is_forward(op) ? layout_.has_message_after(op.chunk)
                          : layout_.has_message_before(op.chunk);
  }
  void push(OpKind kind, const Op& compute) {
    plan_.push_back({kind, compute.chunk, 0, compute.microbatch});
  }

  void start_receive(const Op& op) {
    if (receives(op))
      push(is_forward(op) ? OpKind::RecvActivationStart : OpKind::RecvGradientStart, op);
  }
  void wait_receive(const Op& op) {
    if (receives(op))
      push(is_forward(op) ? OpKind::RecvActivationWait : OpKind::RecvGradientWait, op);
  }
  void send(const Op& op) {
    if (!sends(op)) return;
    const int now = timetable_.slot(stage_, op);
    auto& sent = is_forward(op) ? sent_activations_ : sent_gradients_;
    for (; !sent.empty() && timetable_.receive_slot(stage_, sent.front()) <= now; sent.pop_front())
      push(is_forward(op) ? OpKind::SendActivationWait : OpKind::SendGradientWait, sent.front());
    push(is_forward(op) ? OpKind::SendActivationStart : OpKind::SendGradientStart, op);
    sent.push_back(op);
  }

  int stage_;
  StageLayout layout_;
  const Timetable& timetable_;
  std::deque<Op> sent_activations_;  // instructions whose output is on its way
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
