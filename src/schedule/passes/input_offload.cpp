// SPDX-License-Identifier: Apache-2.0
// Inputs of recomputed layers in host memory, for layers on a device (DeepSpeed's
// cpu_checkpointing). An input leaves during the compute that follows its forward pass, and returns
// during the compute before its recomputation. It stays if no compute lies between the two.
#include <algorithm>
#include <vector>

#include "src/schedule/passes/passes.hpp"

namespace triax {
namespace {

class InputOffloadWriter {
 public:
  InputOffloadWriter(const PlanShape& shape, int stage, const Plan& plan)
      : shape_(shape), stage_(stage), plan_(plan), before_(plan.size()), after_(plan.size()) {
    for (int i = 0; i < std::ssize(plan); ++i)
      if (group_of(plan[i].kind) == OpGroup::compute) computes_.push_back(i);
  }

  Plan write() {
    for (int i = 0; i < std::ssize(plan_); ++i)
      if (keeps_input(plan_[i])) offload(i);
    Plan out;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      out.insert(out.end(), before_[i].begin(), before_[i].end());
      out.push_back(plan_[i]);
      out.insert(out.end(), after_[i].begin(), after_[i].end());
    }
    return out;
  }

 private:
  bool partitions(const Op& op) const { return shape_.partitions(stage_, op.chunk, op.layer); }

  // Whether `op` is the last instruction on an input, or on the part kept of it, before its layer
  // is recomputed.
  bool keeps_input(const Op& op) const {
    const bool kept = op.kind == OpKind::DropFrame || op.kind == OpKind::PartitionInput;
    return kept && shape_.offloads(stage_, op.chunk, op.layer) &&
           partitions(op) == (op.kind == OpKind::PartitionInput);
  }

  void offload(int kept) {
    Op op = plan_[kept];
    op.kind = partitions(op) ? OpKind::GatherInput : OpKind::Recompute;
    const auto needed = std::find(plan_.begin() + kept, plan_.end(), op) - plan_.begin();
    const auto next = std::upper_bound(computes_.begin(), computes_.end(), kept);
    const auto last = std::lower_bound(computes_.begin(), computes_.end(), needed) - 1;
    constexpr int between = 1;  // fewest compute instructions between
    if (last - next <= between) return;
    const auto write = [&](std::vector<Op>& to, OpKind kind) {
      op.kind = kind;
      to.push_back(op);
    };
    write(after_[kept], OpKind::OffloadInputStart);
    write(after_[*next], OpKind::OffloadInputWait);
    write(before_[*last], OpKind::ReloadInputStart);
    write(before_[needed], OpKind::ReloadInputWait);
  }

  const PlanShape& shape_;
  int stage_;
  const Plan& plan_;
  std::vector<int> computes_;         // positions of the compute instructions
  std::vector<Plan> before_, after_;  // by instruction: what is written before and after it
};

}  // namespace

Plans add_input_offload(const Plans& plans, const PlanShape& shape) {
  if (!shape.offload_inputs) return plans;
  Plans out;
  for (int s = 0; s < shape.stages; ++s)
    out.push_back(InputOffloadWriter(shape, s, plans[s]).write());
  return out;
}

}  // namespace triax
