#include "src/schedule/verify.hpp"

#include <optional>
#include <stdexcept>

#include "src/schedule/verify/stage_simulator.hpp"

namespace triax {
namespace {

// A message instruction, taken apart.
struct Message {
  bool gradient;
  bool send;
  bool start;
};

std::optional<Message> message_of(OpKind kind) {
  switch (kind) {
    case OpKind::SendActivationStart:
      return Message{false, true, true};
    case OpKind::SendActivationWait:
      return Message{false, true, false};
    case OpKind::RecvActivationStart:
      return Message{false, false, true};
    case OpKind::RecvActivationWait:
      return Message{false, false, false};
    case OpKind::SendGradientStart:
      return Message{true, true, true};
    case OpKind::SendGradientWait:
      return Message{true, true, false};
    case OpKind::RecvGradientStart:
      return Message{true, false, true};
    case OpKind::RecvGradientWait:
      return Message{true, false, false};
    default:
      return std::nullopt;
  }
}

// All stages side by side. Each instruction acts on its stage when it is reached, and is left when
// what it waits for on other stages has been reached there.
class PipelineSimulator {
 public:
  PipelineSimulator(const Plans& plans, const PlanShape& shape, PlanUse use)
      : shape_(shape),
        edges_(shape.stages * shape.chunks),
        sends_(2 * edges_ * shape.microbatches, false),
        receives_(sends_),
        entered_(shape.stages, false),
        at_tied_sum_(shape.stages, false),
        at_norm_(shape.stages, false) {
    for (int s = 0; s < shape.stages; ++s) stages_.emplace_back(shape, s, plans[s], use);
  }

  std::vector<Peaks> run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (int s = 0; s < shape_.stages; ++s)
        while (!stages_[s].at_end() && step(s)) progress = true;
    }
    check_deadlock();
    std::vector<Peaks> peaks;
    for (const StageSimulator& stage : stages_) {
      stage.check_end();
      peaks.push_back(stage.peaks());
    }
    return peaks;
  }

 private:
  // False where the instruction has to wait.
  bool step(int stage) {
    const Op& op = stages_[stage].op();
    if (!entered_[stage]) {
      stages_[stage].execute();
      arrive(stage, op);
      entered_[stage] = true;
    }
    if (!may_leave(stage, op)) return false;
    stages_[stage].advance();
    entered_[stage] = false;
    return true;
  }

  void arrive(int stage, const Op& op) {
    if (op.kind == OpKind::TiedSum) at_tied_sum_[stage] = true;
    if (op.kind == OpKind::GradientNorm) at_norm_[stage] = true;
    const auto message = message_of(op.kind);
    if (!message || !message->start) return;
    auto& posted = message->send ? sends_ : receives_;
    const int index = index_of(*message, stage, op);
    if (posted[index])
      throw std::logic_error(stages_[stage].place() + ": the message is posted twice");
    posted[index] = true;
  }

  bool may_leave(int stage, const Op& op) const {
    if (op.kind == OpKind::TiedSum) return at_tied_sum_.front() && at_tied_sum_.back();
    if (op.kind == OpKind::GradientNorm) {
      for (const bool there : at_norm_)
        if (!there) return false;
      return true;
    }
    const auto message = message_of(op.kind);
    if (!message || message->start) return true;
    return (message->send ? receives_ : sends_)[index_of(*message, stage, op)];
  }

  // Messages by (activation or gradient, edge, microbatch); edge g lies between global chunks g and
  // g + 1.
  int index_of(const Message& message, int stage, const Op& op) const {
    const int chunk = op.chunk * shape_.stages + stage;
    const int edge = message.send == message.gradient ? chunk - 1 : chunk;
    return ((message.gradient ? edges_ : 0) + edge) * shape_.microbatches + op.microbatch;
  }

  void check_deadlock() const {
    std::string text;
    for (const StageSimulator& stage : stages_) {
      if (stage.at_end()) continue;
      text += text.empty() ? stage.place() + ": waits for ever" : "; so does " + stage.place();
    }
    if (!text.empty()) throw std::logic_error(text);
  }

  const PlanShape& shape_;
  int edges_;  // one more than there are: global chunks
  std::vector<StageSimulator> stages_;
  std::vector<bool> sends_;  // posted, by index_of
  std::vector<bool> receives_;
  std::vector<bool> entered_;  // by stage: the current instruction has acted
  std::vector<bool> at_tied_sum_;
  std::vector<bool> at_norm_;
};

}  // namespace

std::vector<Peaks> verify(const Plans& plans, const PlanShape& shape, PlanUse use) {
  check_shape(shape);
  if (std::ssize(plans) != shape.stages)
    throw std::logic_error("there are " + std::to_string(plans.size()) + " plans for " +
                           std::to_string(shape.stages) + " stages");
  return PipelineSimulator(plans, shape, use).run();
}

}  // namespace triax
