// SPDX-License-Identifier: Apache-2.0
// The end of the step: the norm, then the step of each block. Up to ZeRO-2 every rank gathers what
// the others have stepped, piece by piece, while the next block is stepped. The oldest pieces are
// waited for when more would be in flight than the shape allows.
#include <deque>

#include "src/schedule/passes/ops.hpp"
#include "src/schedule/passes/passes.hpp"

namespace triax {
namespace {

class UpdateWriter {
 public:
  UpdateWriter(const PlanShape& shape, int stage, Plan plan)
      : shape_(shape), plan_(std::move(plan)) {
    if (!shape.blocks.empty()) blocks_ = shape.blocks[stage];
  }

  Plan write() {
    // The tied sum comes after all reductions: it waits for another stage, and they do not.
    for (int b = 0; b < std::ssize(blocks_); ++b)
      if (blocks_[b].tied) plan_.push_back(on_block(OpKind::TiedSum, b));
    plan_.push_back({.kind = OpKind::GradientNorm});
    for (int b = 0; b < std::ssize(blocks_); ++b) {
      if (!blocks_[b].trained) continue;
      plan_.push_back({.kind = OpKind::Step, .block = b, .part = all});
      if (shape_.shards_optimizer() && !shape_.shards_parameters(blocks_[b])) gather(b);
    }
    while (!gathering_.empty()) wait();
    return std::move(plan_);
  }

 private:
  void gather(int block) {
    const int pieces = blocks_[block].gathers();
    for (int piece = 0; piece < pieces; ++piece) {
      const Op op = gather_of(OpKind::GatherStart, block, pieces == 1 ? all : piece);
      while (!gathering_.empty() && in_flight_ + elements(op) > shape_.update_ahead) wait();
      plan_.push_back(op);
      gathering_.push_back(op);
      in_flight_ += elements(op);
    }
  }

  // The last piece may be shorter, and counts as a full one.
  std::int64_t elements(const Op& op) const {
    const BlockUse& block = blocks_[op.block];
    return op.part == all ? block.elements : block.gather_piece;
  }

  void wait() {
    const Op oldest = gathering_.front();
    plan_.push_back(gather_of(OpKind::GatherWait, oldest.block, oldest.part));
    in_flight_ -= elements(oldest);
    gathering_.pop_front();
  }

  const PlanShape& shape_;
  std::vector<BlockUse> blocks_;
  std::deque<Op> gathering_;    // started, not yet waited for
  std::int64_t in_flight_ = 0;  // elements being gathered
  Plan plan_;
};

}  // namespace

Plans add_update(const Plans& plans, const PlanShape& shape) {
  Plans out;
  for (int s = 0; s < shape.stages; ++s) out.push_back(UpdateWriter(shape, s, plans[s]).write());
  return out;
}

}  // namespace triax
