// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/simulate/stage_clock.hpp"

#include <algorithm>
#include <stdexcept>

namespace triax {
namespace {

// Reductions of a block name the micro-batch in one of both instructions only.
Op key(Op op, OpKind start) {
  const bool input = start == OpKind::OffloadInputStart || start == OpKind::ReloadInputStart;
  op.kind = start;
  if (!input) op.microbatch = 0;
  return op;
}

}  // namespace

std::string StageClock::place() const {
  return "stage " + std::to_string(stage_) + ", op " + std::to_string(position_) + " (" +
         text_of(op()) + ")";
}

void StageClock::wait(double until, double StageTimes::*kind) {
  if (until <= now_) return;
  if (intervals_) times_.waits.push_back({position_, now_, until});
  times_.*kind += until - now_;
  now_ = until;
}

void StageClock::pass(double seconds) {
  if (intervals_ && seconds > 0.0) times_.intervals.push_back({position_, now_, now_ + seconds});
  now_ += seconds;
  times_.busy += seconds;
  ++position_;
}

void StageClock::start(const OpTime& time, double& stream) {
  stream = std::max(stream, now_) + time.transfer;
  under_way_[key(op(), op().kind)] = stream;
}

void StageClock::finish(OpKind start, double StageTimes::*kind) {
  const auto found = under_way_.find(key(op(), start));
  if (found == under_way_.end()) throw std::logic_error(place() + ": was never started");
  wait(found->second, kind);
  under_way_.erase(found);
}

void StageClock::run(const OpTime& time) {
  switch (op().kind) {
    case OpKind::ReduceStart:
    case OpKind::GatherStart:
      start(time, data_free_);
      break;
    case OpKind::ReduceWait:
      finish(OpKind::ReduceStart, &StageTimes::data);
      break;
    case OpKind::GatherWait:
      finish(OpKind::GatherStart, &StageTimes::data);
      break;
    case OpKind::OffloadInputStart:
    case OpKind::ReloadInputStart:
    case OpKind::FetchStart:
    case OpKind::StoreStart:
    case OpKind::LoadStart:
    case OpKind::SaveStart:
      start(time, store_free_);
      break;
    case OpKind::OffloadInputWait:
      finish(OpKind::OffloadInputStart, &StageTimes::store);
      break;
    case OpKind::ReloadInputWait:
      finish(OpKind::ReloadInputStart, &StageTimes::store);
      break;
    case OpKind::FetchWait:
      finish(OpKind::FetchStart, &StageTimes::store);
      break;
    case OpKind::StoreWait:
      finish(OpKind::StoreStart, &StageTimes::store);
      break;
    case OpKind::LoadWait:
      finish(OpKind::LoadStart, &StageTimes::store);
      break;
    case OpKind::SaveWait:
      finish(OpKind::SaveStart, &StageTimes::store);
      break;
    default:
      break;
  }
  pass(time.holds);
}

}  // namespace triax
