// SPDX-License-Identifier: Apache-2.0
// Up to ZeRO-1 a block's gradient is whole for the whole step and reduced once, after the last
// backward that writes it. From ZeRO-2 on it is whole within a window: opened by the first
// instruction of a micro-batch that writes it, and reduced into the shard once every micro-batch
// that has begun to write is done. With the usual order of backwards that is one window per
// micro-batch. The oldest reductions are waited for when more would be in flight than the shape
// allows.
#include <deque>
#include <set>

#include "src/schedule/passes/ops.hpp"
#include "src/schedule/passes/passes.hpp"

namespace triax {
namespace {

class ReductionWriter {
 public:
  ReductionWriter(const PlanShape& shape, int stage) : shape_(shape), stage_(stage) {
    if (!shape.blocks.empty()) blocks_ = shape.blocks[stage];
    for (const BlockUse& block : blocks_)
      state_.push_back({.writes_left = std::vector<int>(shape.microbatches,
                                                        static_cast<int>(block.layers.size())),
                        .microbatches_left = shape.microbatches});
  }

  Plan write(const Plan& compute) {
    for (std::size_t i = 0; i < compute.size(); ++i) {
      const Op& op = compute[i];
      if (op.kind == OpKind::ExchangeBegin) in_exchange_ = true;
      if (!in_exchange_ && !leads_to_send(compute, i)) reduce();
      for (int b = 0; b < std::ssize(blocks_); ++b) begin(b, op);
      plan_.push_back(op);
      if (op.kind == OpKind::ExchangeEnd) in_exchange_ = false;
      for (int b = 0; b < std::ssize(blocks_); ++b) end(b, op);
    }
    reduce();
    while (!reducing_.empty()) wait();
    for (int b = 0; b < std::ssize(blocks_); ++b) {
      if (!blocks_[b].trained) continue;
      if (shape_.replicas) plan_.push_back(on_block(OpKind::ReplicaSum, b));
      if (shape_.shards_gradients()) sum_over_tensor(b);
    }
    return std::move(plan_);
  }

 private:
  struct State {
    std::vector<int> writes_left;  // by micro-batch
    int microbatches_left;         // micro-batches with backwards to come
    std::set<int> under_way = {};  // micro-batches that have written and will write again
    bool open = false;
  };

  // An instruction that another stage waits for goes before one that only this stage waits for.
  static bool leads_to_send(const Plan& plan, std::size_t i) {
    while (i < plan.size() &&
           (plan[i].kind == OpKind::SendGradientWait || plan[i].kind == OpKind::SendActivationWait))
      ++i;
    return i < plan.size() &&
           (plan[i].kind == OpKind::SendGradientStart || plan[i].kind == OpKind::ExchangeBegin);
  }

  static bool writes(const LayerUse& use, const Op& op) {
    return use.is(op) && (op.kind == OpKind::Backward || op.kind == OpKind::WeightGradient ||
                          (op.kind == OpKind::Forward && use.writes_forward));
  }

  void begin(int block, const Op& op) {
    State& state = state_[block];
    if (!blocks_[block].trained) return;
    for (const LayerUse& use : blocks_[block].layers) {
      if (!writes(use, op)) continue;
      state.under_way.insert(op.microbatch);
      if (state.open || !shape_.shards_gradients()) continue;
      while (in_flight(block)) wait();
      plan_.push_back({.kind = OpKind::GradientOpen, .microbatch = op.microbatch, .block = block});
      state.open = true;
    }
  }

  void end(int block, const Op& op) {
    State& state = state_[block];
    if (!blocks_[block].trained) return;
    for (const LayerUse& use : blocks_[block].layers) {
      if (!use.is(op) || op.kind != shape_.last_write(stage_, op.chunk, op.layer)) continue;
      if (--state.writes_left[op.microbatch] > 0) continue;
      state.under_way.erase(op.microbatch);
      --state.microbatches_left;
      const bool whole =
          shape_.shards_gradients() ? state.under_way.empty() : state.microbatches_left == 0;
      if (whole) due_.push_back(block);
    }
  }

  void reduce() {
    for (const int block : due_) {
      if (!shape_.shards_gradients()) sum_over_tensor(block);
      if (!shape_.shards_gradients() && !shape_.data_parallel) continue;
      plan_.push_back(on_block(OpKind::ReduceStart, block));
      state_[block].open = false;
      reducing_.push_back(block);
      in_flight_ += blocks_[block].elements;
      const bool one_may = shape_.reduce_ahead > 0;
      while (in_flight_ > shape_.reduce_ahead && reducing_.size() > (one_may ? 1 : 0)) wait();
    }
    due_.clear();
  }

  void sum_over_tensor(int block) {
    if (blocks_[block].tensor_sum) plan_.push_back(on_block(OpKind::TensorSum, block));
  }

  bool in_flight(int block) const {
    for (const int other : reducing_)
      if (other == block) return true;
    return false;
  }

  // Reductions end in the order in which they started.
  void wait() {
    plan_.push_back(on_block(OpKind::ReduceWait, reducing_.front()));
    in_flight_ -= blocks_[reducing_.front()].elements;
    reducing_.pop_front();
  }

  const PlanShape& shape_;
  int stage_;
  std::vector<BlockUse> blocks_;
  std::vector<State> state_;
  bool in_exchange_ = false;    // nothing else may stand there
  std::vector<int> due_;        // blocks whose gradient can be reduced
  std::deque<int> reducing_;    // started, not yet waited for
  std::int64_t in_flight_ = 0;  // elements being reduced
  Plan plan_;
};

}  // namespace

Plans add_reduction(const Plans& plans, const PlanShape& shape) {
  Plans out;
  for (int s = 0; s < shape.stages; ++s) out.push_back(ReductionWriter(shape, s).write(plans[s]));
  return out;
}

}  // namespace triax
