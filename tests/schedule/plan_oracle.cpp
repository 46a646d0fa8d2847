// SPDX-License-Identifier: Apache-2.0
#include "tests/schedule/plan_oracle.hpp"

#include <array>
#include <map>
#include <set>
#include <string>

namespace triax::test {
namespace {

enum class Access { read, add, write };
using Footprint = std::map<std::string, Access>;

bool writes(const LayerUse& use, const Op& op) {
  return op.kind == OpKind::Backward || op.kind == OpKind::WeightGradient ||
         (op.kind == OpKind::Forward && use.writes_forward);
}

// Lists the objects that an instruction reads and writes.
class Tracer {
 public:
  Tracer(const PlanShape& shape, int stage) : shape_(shape), stage_(stage) {}

  Footprint trace(const Op& op) {
    if (shape_.matching == MessageMatching::by_tag) return touched(op);
    const bool bound = op.kind == OpKind::ExchangeBegin || op.kind == OpKind::ExchangeEnd;
    Footprint all = bound ? Footprint{} : touched(op);
    all["exchange"] = bound ? Access::write : Access::read;
    return all;
  }

 private:
  Footprint touched(const Op& op) {
    const int input = op.layer;
    const int output = op.layer + 1;
    const int chunk_end = shape_.layers[stage_][op.chunk];
    switch (op.kind) {
      case OpKind::Forward:
        return with_blocks(op, {{act(op, input), Access::read},
                                {act(op, output), Access::write},
                                {frame(op), Access::write}});
      case OpKind::Recompute:
        return with_blocks(op, {{act(op, input), Access::read}, {frame(op), Access::write}});
      case OpKind::Backward:
        return with_blocks(op, {{act(op, op.layer), Access::write},
                                {grad(op, op.layer), Access::write},
                                {grad(op, op.layer + 1), Access::write},
                                {frame(op), Access::write},
                                {operands(op), Access::write},
                                {"norm", Access::add}});
      case OpKind::WeightGradient:
        return with_blocks(op, {{operands(op), Access::write}});
      case OpKind::DropFrame:
        return {{frame(op), Access::write}};
      case OpKind::DropInput:
        return {{act(op, input), Access::write}};
      case OpKind::PartitionInput:
      case OpKind::GatherInput:
        return {{act(op, input), Access::write}, {"part of " + frame(op), Access::write}};
      case OpKind::OffloadInputStart:
      case OpKind::OffloadInputWait:
      case OpKind::ReloadInputStart:
      case OpKind::ReloadInputWait:
        return {{shape_.partition_inputs ? "part of " + frame(op) : act(op, input), Access::write}};
      case OpKind::SendActivationStart:
      case OpKind::SendActivationWait:
        return {{act(op, chunk_end), Access::write}};
      case OpKind::RecvActivationStart:
      case OpKind::RecvActivationWait:
        return {{act(op, 0), Access::write}};
      case OpKind::SendGradientStart:
      case OpKind::SendGradientWait:
        return {{grad(op, 0), Access::write}};
      case OpKind::RecvGradientStart:
      case OpKind::RecvGradientWait:
        return {{grad(op, chunk_end), Access::write}};
      case OpKind::GradientNorm:
        return norm();
      case OpKind::GatherStart:
      case OpKind::GatherWait:
        if (sharded(op.block))
          return {{parameters(op.block), Access::write}, {shard(op.block), Access::read}};
        // Each piece of a block is gathered on its own.
        return {{block(op.block), Access::add},
                {"piece of " + state(op), Access::write},
                {shard(op.block), Access::read}};
      case OpKind::Release:
        return {{parameters(op.block), Access::write}};
      // Each part of a block changes another range.
      // All orthogonal blocks share one buffer of directions.
      case OpKind::Momentum:
        return {
            {block(op.block), Access::add}, {"direction", Access::add}, {state(op), Access::write}};
      case OpKind::DirectionGather:
      case OpKind::Orthogonalize:
      case OpKind::DirectionBroadcast:
        return {{block(op.block), Access::write}, {"direction", Access::write}};
      case OpKind::Step:
        return stepped(op);
      case OpKind::FetchStart:
      case OpKind::FetchWait:
      case OpKind::StoreStart:
      case OpKind::StoreWait:
        return {{state(op), Access::write}};
      case OpKind::LoadStart:
      case OpKind::LoadWait:
      case OpKind::Unload:
      case OpKind::SaveStart:
      case OpKind::SaveWait:
        return {{shard(op.block), Access::write}};
      default:
        return {{block(op.block), Access::write}};
    }
  }

  Footprint stepped(const Op& op) const {
    Footprint touched = {{block(op.block), Access::add},
                         {parameters(op.block), Access::add},
                         {shard(op.block), Access::add},
                         {state(op), Access::write}};
    if (shape_.blocks[stage_][op.block].orthogonal) touched["direction"] = Access::read;
    return touched;
  }

  // On one stage the output of a chunk is the next one's input.
  std::string boundary(const Op& op, int layer) const {
    const bool next = shape_.stages == 1 && layer == shape_.layers[stage_][op.chunk];
    return std::to_string(next ? op.chunk + 1 : op.chunk) + " " + std::to_string(next ? 0 : layer) +
           " " + std::to_string(op.microbatch);
  }
  std::string act(const Op& op, int layer) const { return "act " + boundary(op, layer); }
  std::string grad(const Op& op, int layer) const { return "grad " + boundary(op, layer); }
  static std::string layer(const Op& op) {
    return std::to_string(op.chunk) + " " + std::to_string(op.layer) + " " +
           std::to_string(op.microbatch);
  }
  static std::string frame(const Op& op) { return "frame " + layer(op); }
  static std::string operands(const Op& op) { return "operands of " + layer(op); }
  static std::string block(int b) { return "block " + std::to_string(b); }

  // This rank's shard of the parameters, if it is loaded from a store.
  static std::string shard(int b) { return "shard " + std::to_string(b); }
  static std::string state(const Op& op) {
    return "state " + std::to_string(op.block) + " " + std::to_string(op.part);
  }
  static std::string parameters(int b) { return "parameters " + std::to_string(b); }
  bool sharded(int b) const { return shape_.shards_parameters(shape_.blocks[stage_][b]); }

  // Accesses of a compute instruction to the blocks of its layer: `block` is the gradient and, if
  // they stay whole, the parameters.
  Footprint with_blocks(const Op& op, Footprint touched) const {
    for (int b = 0; b < std::ssize(shape_.blocks[stage_]); ++b)
      for (const LayerUse& use : shape_.blocks[stage_][b].layers) {
        if (!use.is(op)) continue;
        if (op.kind != OpKind::WeightGradient &&
            (op.kind != OpKind::Backward || use.reads_backward))
          touched[parameters(b)] = Access::read;
        if (shape_.blocks[stage_][b].trained && writes(use, op)) touched[block(b)] = Access::add;
      }
    return touched;
  }
  Footprint norm() const {
    Footprint touched = {{"norm", Access::write}};
    for (int b = 0; b < std::ssize(shape_.blocks[stage_]); ++b)
      if (shape_.blocks[stage_][b].trained) touched[block(b)] = Access::write;
    return touched;
  }

  const PlanShape& shape_;
  int stage_;
};

}  // namespace

bool independent(const PlanShape& shape, int stage, const Op& a, const Op& b) {
  const Footprint second = Tracer(shape, stage).trace(b);
  for (const auto& [thing, access] : Tracer(shape, stage).trace(a)) {
    const auto other = second.find(thing);
    if (other == second.end()) continue;
    if (access == Access::write || access != other->second) return false;
  }
  return true;
}

bool windows_begin_with_their_microbatch(const PlanShape& shape, int stage, const Plan& plan) {
  if (!shape.shards_gradients()) return true;
  std::map<int, int> first;              // micro-batches of the open windows, by block
  std::set<std::array<int, 3>> written;  // (block, chunk, layer) since its window was opened
  for (const Op& op : plan) {
    if (op.kind == OpKind::GradientOpen) {
      first[op.block] = op.microbatch;
      std::erase_if(written, [&](const auto& use) { return use[0] == op.block; });
    }
    for (int b = 0; b < std::ssize(shape.blocks[stage]); ++b)
      for (const LayerUse& use : shape.blocks[stage][b].layers)
        if (shape.blocks[stage][b].trained && use.is(op) && writes(use, op) &&
            written.insert({b, op.chunk, op.layer}).second && first[b] != op.microbatch)
          return false;
  }
  return true;
}

bool recomputes_stand_before_backward(const Plan& plan) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].kind != OpKind::Recompute) continue;
    Op backward = plan[i];
    backward.kind = OpKind::Backward;
    std::size_t next = i + 1;
    while (next < plan.size() && group_of(plan[next].kind) != OpGroup::compute) ++next;
    if (next == plan.size() || plan[next] != backward) return false;
  }
  return true;
}

}  // namespace triax::test
