// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/verify/verify.hpp"

#include <stdexcept>

#include "src/schedule/verify/exchange_ledger.hpp"
#include "src/schedule/verify/stage_simulator.hpp"

namespace triax {
namespace {

// All stages side by side. An instruction acts on its stage when it is reached, and is left once
// the instructions it waits for on other stages have been reached.
class PipelineSimulator {
 public:
  PipelineSimulator(const Plans& plans, const PlanShape& shape, PlanUse use)
      : shape_(shape),
        sends_(messages_of(shape), false),
        receives_(sends_),
        exchanges_(shape),
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
      const auto number = static_cast<int>(peaks.size());
      stage.at_place([&] { exchanges_.check_end(number); });
      peaks.push_back(stage.peaks());
    }
    return peaks;
  }

 private:
  // Returns false if the instruction has to wait.
  bool step(int stage) {
    const Op& op = stages_[stage].op();
    if (!entered_[stage]) {
      stages_[stage].execute();
      stages_[stage].at_place([&] { exchanges_.reach(stage, op); });
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
    const int index = number_of(*message, shape_, stage, op);
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
    if (op.kind == OpKind::ExchangeEnd) return exchanges_.complete(stage);
    const auto message = message_of(op.kind);
    if (!message || message->start) return true;
    return (message->send ? receives_ : sends_)[number_of(*message, shape_, stage, op)];
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
  std::vector<StageSimulator> stages_;
  std::vector<bool> sends_;  // posted, by number_of
  std::vector<bool> receives_;
  ExchangeLedger exchanges_;
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
