// SPDX-License-Identifier: Apache-2.0
// Optimizer state in a store (ZeRO-Infinity, Rajbhandari et al. 2021): a part of it is fetched into
// a buffer, stepped and stored. The parts of all blocks form one queue: the next is fetched while
// one is stepped and the last is stored, if there are buffers.
#include <algorithm>
#include <deque>

#include "src/schedule/passes/passes.hpp"

namespace triax {
namespace {

class OffloadWriter {
 public:
  OffloadWriter(const PlanShape& shape, int stage) : shape_(shape) {
    if (!shape.blocks.empty()) blocks_ = shape.blocks[stage];
  }

  Plan write(const Plan& plan) {
    for (const Op& op : plan)
      if (uses_state(op))
        for (int p = blocks_[op.block].kept_parts; p < blocks_[op.block].parts; ++p)
          to_fetch_.push_back({.kind = op.kind, .block = op.block, .part = p});
    for (const Op& op : plan) {
      // The fetch of the first part overlaps the norm's collective.
      if (op.kind == OpKind::GradientNorm) fetch_ahead();
      if (!uses_state(op) || blocks_[op.block].parts == 0) {
        plan_.push_back(op);
        continue;
      }
      for (int p = 0; p < blocks_[op.block].parts; ++p)
        step({.kind = op.kind, .block = op.block, .part = p});
    }
    while (!storing_.empty()) wait_store();
    return std::move(plan_);
  }

 private:
  static bool uses_state(const Op& op) {
    return op.kind == OpKind::Step || op.kind == OpKind::Momentum;
  }

  // An orthogonal block uses a part twice.
  static bool same_part(const Op& a, const Op& b) { return a.block == b.block && a.part == b.part; }

  void step(const Op& part) {
    if (part.part < blocks_[part.block].kept_parts) return plan_.push_back(part);
    if (fetched_.empty()) fetch();
    push(OpKind::FetchWait, part);
    fetched_.pop_front();
    if (to_fetch_.empty() || !same_part(to_fetch_.front(), part)) fetch_ahead();
    plan_.push_back(part);
    while (!storing_.empty()) wait_store();
    push(OpKind::StoreStart, part);
    storing_.push_back(part);
    if (!shape_.store_behind) wait_store();
  }

  // A stepped part holds its buffer until its store is waited for.
  void fetch_ahead() {
    if (!shape_.fetch_ahead || to_fetch_.empty()) return;
    if (std::ranges::any_of(storing_,
                            [&](const Op& op) { return same_part(op, to_fetch_.front()); }))
      return;
    if (in_use_ < shape_.state_buffers || !storing_.empty()) fetch();
  }

  void fetch() {
    while (std::ranges::any_of(storing_,
                               [&](const Op& op) { return same_part(op, to_fetch_.front()); }))
      wait_store();
    if (in_use_ == shape_.state_buffers) wait_store();
    push(OpKind::FetchStart, to_fetch_.front());
    fetched_.push_back(to_fetch_.front());
    to_fetch_.pop_front();
    ++in_use_;
  }

  void wait_store() {
    push(OpKind::StoreWait, storing_.front());
    storing_.pop_front();
    --in_use_;
  }

  void push(OpKind kind, const Op& part) {
    plan_.push_back({.kind = kind, .block = part.block, .part = part.part});
  }

  const PlanShape& shape_;
  std::vector<BlockUse> blocks_;
  std::deque<Op> to_fetch_;  // parts in the order of their Steps
  std::deque<Op> fetched_;   // started, not yet waited for
  std::deque<Op> storing_;
  int in_use_ = 0;  // buffers in use
  Plan plan_;
};

}  // namespace

Plans add_offload(const Plans& plans, const PlanShape& shape) {
  Plans out;
  for (int s = 0; s < shape.stages; ++s) out.push_back(OffloadWriter(shape, s).write(plans[s]));
  return out;
}

}  // namespace triax
