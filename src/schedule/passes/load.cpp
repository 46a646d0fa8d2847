// SPDX-License-Identifier: Apache-2.0
// ZeRO-3 with the parameter shards in a store (ZeRO-Infinity, Rajbhandari et al. 2021). The
// instructions that use a shard are known in order: GatherStart to GatherWait reads it, the block's
// Steps change it. It is loaded ahead of a use and unloaded, or saved, after it.
#include <deque>

#include "src/schedule/passes/ops.hpp"
#include "src/schedule/passes/passes.hpp"

namespace triax {
namespace {

class LoadWriter {
 public:
  LoadWriter(const PlanShape& shape, int stage) : shape_(shape) {
    if (!shape.blocks.empty()) blocks_ = shape.blocks[stage];
    state_.resize(blocks_.size(), State::stored);
  }

  Plan write(const Plan& plan) {
    for (const Op& op : plan)
      if (begins_use(op)) uses_.push_back(op.block);
    load_ahead();
    for (const Op& op : plan) {
      if (begins_use(op)) begin_use(op.block);
      plan_.push_back(op);
      if (ends_use(op)) end_use(op);
    }
    wait_saves();
    return std::move(plan_);
  }

 private:
  enum class State { stored, loading, present };

  bool begins_use(const Op& op) const {
    const bool first_step = loads_to_step(op) && op.part <= 0;
    return (op.kind == OpKind::GatherStart || first_step) && blocks_[op.block].stored();
  }
  bool ends_use(const Op& op) const {
    const bool last_step = loads_to_step(op) && op.part + 1 >= blocks_[op.block].parts;
    return (op.kind == OpKind::GatherWait || last_step) && blocks_[op.block].stored();
  }
  bool loads_to_step(const Op& op) const {
    return op.kind == OpKind::Step && blocks_[op.block].parameters != Residence::stepped_in_store;
  }

  void begin_use(int block) {
    uses_.pop_front();
    start(block);
    plan_.push_back(on_block(OpKind::LoadWait, block));
    state_[block] = State::present;
    load_ahead();
  }

  void end_use(const Op& op) {
    if (op.kind == OpKind::GatherWait) {
      plan_.push_back(on_block(OpKind::Unload, op.block));
      gone(op.block);
    } else {
      wait_saves();
      plan_.push_back(on_block(OpKind::SaveStart, op.block));
      saving_.push_back(op.block);
      if (!shape_.save_behind) wait_saves();
    }
    load_ahead();
  }

  // Loads the shards that are used soonest, within the limits. Stops at a shard in use: it can only
  // be loaded again after that use.
  void load_ahead() {
    for (const int block : uses_) {
      if (state_[block] == State::present) return;
      if (state_[block] == State::loading) continue;
      if (in_use_ >= shape_.shard_buffers) return;
      if (in_use_ > 0 && elements_ + blocks_[block].elements > shape_.shard_limit) return;
      start(block);
    }
  }

  void start(int block) {
    if (state_[block] != State::stored) return;
    plan_.push_back(on_block(OpKind::LoadStart, block));
    state_[block] = State::loading;
    ++in_use_;
    elements_ += blocks_[block].elements;
  }

  void wait_saves() {
    for (const int block : saving_) {
      plan_.push_back(on_block(OpKind::SaveWait, block));
      gone(block);
    }
    saving_.clear();
  }

  void gone(int block) {
    state_[block] = State::stored;
    --in_use_;
    elements_ -= blocks_[block].elements;
  }

  const PlanShape& shape_;
  std::vector<BlockUse> blocks_;
  std::vector<State> state_;
  std::deque<int> uses_;       // blocks of the uses to come
  std::vector<int> saving_;    // at most one
  int in_use_ = 0;             // buffers in use
  std::int64_t elements_ = 0;  // elements of the blocks in them
  Plan plan_;
};

}  // namespace

Plans add_loads(const Plans& plans, const PlanShape& shape) {
  Plans out;
  for (int s = 0; s < shape.stages; ++s) out.push_back(LoadWriter(shape, s).write(plans[s]));
  return out;
}

}  // namespace triax
