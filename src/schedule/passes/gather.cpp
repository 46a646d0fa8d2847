// SPDX-License-Identifier: Apache-2.0
// ZeRO-3: parameters are whole only while they are read. The instructions that read them are known
// in order: a block is gathered before its first reader, so that the gather overlaps the compute
// ahead of it, and released after the last of consecutive readers.
#include <algorithm>
#include <deque>

#include "src/schedule/passes/ops.hpp"
#include "src/schedule/passes/passes.hpp"

namespace triax {
namespace {

class GatherWriter {
 public:
  GatherWriter(const PlanShape& shape, int stage) : shape_(shape) {
    if (!shape.blocks.empty()) blocks_ = shape.blocks[stage];
    state_.resize(blocks_.size());
  }

  Plan write(const Plan& compute) {
    for (const Op& op : compute)
      if (reads(op)) readers_.push_back(blocks_read_by(op));
    for (const Op& op : compute) {
      if (!reads(op)) {
        plan_.push_back(op);
        continue;
      }
      const std::vector<int> now = readers_.front();
      readers_.pop_front();
      for (const int block : now) start(block);
      for (const int block : now) wait(block);
      gather_ahead();
      plan_.push_back(op);
      for (const int block : now)
        if (!read_next(block)) release(block);
    }
    return std::move(plan_);
  }

 private:
  enum class State { absent, gathering, present };

  static bool reads(const Op& op) {
    return group_of(op.kind) == OpGroup::compute && op.kind != OpKind::WeightGradient;
  }

  std::vector<int> blocks_read_by(const Op& op) const {
    std::vector<int> read;
    for (int b = 0; b < std::ssize(blocks_); ++b)
      if (shape_.shards_parameters(blocks_[b]))
        for (const LayerUse& use : blocks_[b].layers)
          if (use.is(op) && (op.kind != OpKind::Backward || use.reads_backward)) read.push_back(b);
    return read;
  }

  bool read_next(int block) const {
    return !readers_.empty() && std::find(readers_.front().begin(), readers_.front().end(),
                                          block) != readers_.front().end();
  }

  // Gathers the blocks that are read soonest, within the limits. Stops at a present block that is
  // released before its next read: it can only be gathered again after that.
  void gather_ahead() {
    if (shape_.gather_ahead == 0) return;
    std::int64_t ahead = 0;
    for (const std::vector<int>& next : readers_)
      for (const int block : next) {
        const std::int64_t elements = blocks_[block].elements;
        if (state_[block] == State::present) {
          if (read_next(block)) continue;
          return;
        }
        if (ahead > 0 && ahead + elements > shape_.gather_ahead) return;
        if (state_[block] == State::absent && gathered_ + elements > shape_.gathered_limit) return;
        start(block);
        ahead += elements;
      }
  }

  void start(int block) {
    if (state_[block] != State::absent) return;
    plan_.push_back(gather_of(OpKind::GatherStart, block));
    state_[block] = State::gathering;
    gathered_ += blocks_[block].elements;
  }
  void wait(int block) {
    if (state_[block] != State::gathering) return;
    plan_.push_back(gather_of(OpKind::GatherWait, block));
    state_[block] = State::present;
  }
  void release(int block) {
    plan_.push_back(on_block(OpKind::Release, block));
    state_[block] = State::absent;
    gathered_ -= blocks_[block].elements;
  }

  const PlanShape& shape_;
  std::vector<BlockUse> blocks_;
  std::vector<State> state_;
  std::deque<std::vector<int>> readers_;  // blocks of each reader to come
  std::int64_t gathered_ = 0;             // elements gathered or on their way
  Plan plan_;
};

}  // namespace

Plans add_gathers(const Plans& plans, const PlanShape& shape) {
  if (shape.zero != ZeroStage::parameters) return plans;
  Plans out;
  for (int s = 0; s < shape.stages; ++s) out.push_back(GatherWriter(shape, s).write(plans[s]));
  return out;
}

}  // namespace triax
