#include "src/schedule/passes.hpp"

namespace triax {
namespace {

Op on_block(OpKind kind, int block) {
  return {.kind = kind, .block = block};
}

// One stage's plan with the life of its blocks added.
class UpdateWriter {
 public:
  UpdateWriter(const PlanShape& shape, int stage)
      : shape_(shape), blocks_(shape.blocks.empty() ? no_blocks_ : shape.blocks[stage]) {
    for (const BlockUse& block : blocks_)
      writes_left_.push_back(static_cast<int>(block.layers.size()) * shape.microbatches);
  }

  Plan write(const Plan& compute) {
    for (const Op& op : compute) {
      plan_.push_back(op);
      if (op.kind == OpKind::Backward) count_writes(op);
    }
    finish_gradients();
    step();
    return std::move(plan_);
  }

 private:
  void count_writes(const Op& backward) {
    for (int b = 0; b < std::ssize(blocks_); ++b)
      for (const auto& layer : blocks_[b].layers)
        if (layer == std::pair{backward.chunk, backward.layer} && --writes_left_[b] == 0) reduce(b);
  }

  void reduce(int block) {
    if (blocks_[block].tensor_sum) plan_.push_back(on_block(OpKind::TensorSum, block));
    if (!shape_.data_parallel) return;
    plan_.push_back(on_block(OpKind::ReduceStart, block));
    reducing_.push_back(block);
  }

  // The tied sum comes last: it waits for another stage, and the reductions need not.
  void finish_gradients() {
    for (const int block : reducing_) plan_.push_back(on_block(OpKind::ReduceWait, block));
    for (int b = 0; b < std::ssize(blocks_); ++b)
      if (blocks_[b].tied) plan_.push_back(on_block(OpKind::TiedSum, b));
    plan_.push_back({.kind = OpKind::GradientNorm});
  }

  void step() {
    const int count = static_cast<int>(blocks_.size());
    for (int b = 0; b < count; ++b) {
      plan_.push_back(on_block(OpKind::Step, b));
      if (shape_.shard_optimizer) plan_.push_back(on_block(OpKind::GatherStart, b));
    }
    if (!shape_.shard_optimizer) return;
    for (int b = 0; b < count; ++b) plan_.push_back(on_block(OpKind::GatherWait, b));
  }

  const PlanShape& shape_;
  const std::vector<BlockUse> no_blocks_;
  const std::vector<BlockUse>& blocks_;
  std::vector<int> writes_left_;
  std::vector<int> reducing_;
  Plan plan_;
};

}  // namespace

Plans add_update(const Plans& plans, const PlanShape& shape) {
  Plans out;
  for (int s = 0; s < shape.stages; ++s) out.push_back(UpdateWriter(shape, s).write(plans[s]));
  return out;
}

}  // namespace triax
