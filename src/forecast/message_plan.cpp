// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/message_plan.hpp"

#include <algorithm>
#include <map>

#include "src/comm/device/staging_memory.hpp"
#include "src/executor/step_buffers.hpp"
#include "src/model/block/projections.hpp"

namespace triax {
namespace {

// Instructions of a plan with their counts. The micro-batch does not change what an instruction
// sends.
std::map<Op, std::uint64_t> counted(const Plan& plan) {
  std::map<Op, std::uint64_t> counts;
  for (Op op : plan) {
    op.microbatch = 0;
    ++counts[op];
  }
  return counts;
}

// Whether the message differs between the data ranks of a shard group: under ZeRO-2 and ZeRO-3 each
// sums only the gradients it keeps, and each orthogonalises its own matrices.
bool depends_on_data_rank(const Op& op, const StateOptions& options) {
  if (op.kind == OpKind::Orthogonalize) return options.shard.size > 1;
  return op.kind == OpKind::TensorSum && options.shard.cuts_gradients();
}

class Counter {
 public:
  Counter(const PlacedConfig& config, MessagePlan& total)
      : config_(config), options_(state_options(config, 0)), total_(total) {}

  // Adds the messages of all data ranks of a stage and tensor rank.
  void add(const Stage& stage, const std::map<Op, std::uint64_t>& ops) {
    const auto data = static_cast<std::uint64_t>(config_.parallel.data);
    std::vector<ParameterBlock> blocks = lay_out_blocks(stage, options_.shard);
    const OpMessages messages(config_, stage, blocks);
    bool differ = false;
    for (const auto& [op, count] : ops)
      if (depends_on_data_rank(op, options_))
        differ = true;
      else
        add(messages.of(op), count * data);
    if (!differ) return;
    const auto groups = static_cast<std::uint64_t>(options_.shard.groups);
    for (int rank = 0; rank < options_.shard.size; ++rank) {
      for (ParameterBlock& block : blocks)
        block.gradients = part_of_rank(block.elements, options_.shard.size, rank);
      const OpMessages own(config_, stage, blocks, rank);
      for (const auto& [op, count] : ops)
        if (depends_on_data_rank(op, options_)) add(own.of(op), count * groups);
    }
  }

 private:
  void add(const OpMessages::Sent& sent, std::uint64_t times) {
    total_.by_axis[static_cast<std::size_t>(sent.axis)] += times * sent.messages;
  }

  const PlacedConfig& config_;
  StateOptions options_;
  MessagePlan& total_;
};

}  // namespace

OpMessages::OpMessages(const PlacedConfig& config, const Stage& stage,
                       const std::vector<ParameterBlock>& blocks, int data_rank)
    : groups_(config),
      shape_(batch_shape(config, stage.place().tensor)),
      boundary_bytes_(boundary_bytes(shape_, config.model.hidden)) {
  for (int chunk = 0; chunk < stage.chunks(); ++chunk) {
    auto& row = layers_.emplace_back();
    for (int layer = 0; layer < stage.layers(chunk); ++layer)
      row.push_back(stage.layer(chunk, layer).messages(shape_));
  }
  const int tensor = config.parallel.tensor;
  gather_input_ = planned_all_gather(
      tensor, static_cast<std::uint64_t>(tensor) * part_bytes(boundary_bytes_, tensor));
  const StateOptions options = state_options(config, data_rank);
  for (const ParameterBlock& block : blocks)
    blocks_.push_back(block_messages(block, options, tensor));
}

OpMessages::Sent OpMessages::of(const Op& op) const {
  const auto layer = [&]() -> const auto& {
    return layers_[static_cast<std::size_t>(op.chunk)][static_cast<std::size_t>(op.layer)];
  };
  const auto block = [&]() -> const auto& {
    return blocks_[static_cast<std::size_t>(op.block)];
  };
  switch (op.kind) {
    case OpKind::Forward:
    case OpKind::Recompute:
      return {Axis::tensor, layer().forward};
    case OpKind::Backward:
      return {Axis::tensor, layer().backward};
    case OpKind::GatherInput:
      return {Axis::tensor, gather_input_};
    case OpKind::SendActivationStart:
    case OpKind::SendGradientStart:
      return {Axis::pipeline, planned_send(boundary_bytes_)};
    case OpKind::ReplicaSum:
      return {Axis::data, block().replica_sum};
    case OpKind::TensorSum:
      return {Axis::tensor, block().tensor_sum};
    case OpKind::ReduceStart:
      return {Axis::data, block().reduce};
    case OpKind::DirectionGather:
      return {Axis::data, block().direction_gather};
    case OpKind::Orthogonalize:
      return {Axis::tensor, block().orthogonalize};
    case OpKind::DirectionBroadcast:
      return {Axis::data, block().direction_broadcast};
    case OpKind::TiedSum:
      return {Axis::pipeline, block().tied_sum};
    case OpKind::GatherStart:
      return {Axis::data, block().gathers[static_cast<std::size_t>(std::max(op.part, 0))]};
    default:
      if (sends(op.kind)) check(false, "what {} sends is not planned", text_of(op));
      return {};
  }
}

std::uint64_t OpMessages::peak_scratch(const Plan& plan) const {
  std::uint64_t peak = 0;
  std::uint64_t reducing =
      0;  // of reductions under way; other messages with scratch are waited for at once
  for (const Op& op : plan) {
    const std::uint64_t own = of(op).messages.scratch;
    peak = std::max(peak, reducing + own);
    if (op.kind == OpKind::ReduceStart) reducing += own;
    if (op.kind == OpKind::ReduceWait)
      reducing -= of({.kind = OpKind::ReduceStart, .block = op.block}).messages.scratch;
  }
  return peak;
}

std::uint64_t OpMessages::held(const Plan& plan) const {
  std::map<const SharingGroups::Group*, SharingGroups::Group::Held> held;
  const auto add = [&](const SharingGroups::Group& group, const Messages& messages) {
    const SharingGroups::Group::Held own = group.held_for(messages);
    SharingGroups::Group::Held& most = held[&group];
    most.all = std::max(most.all, own.all);
    most.between_nodes = std::max(most.between_nodes, own.between_nodes);
  };
  for (const Op& op : plan) {
    const Sent sent = of(op);
    if (sent.messages.part == 0) continue;
    add(groups_.of(op.kind, sent.axis), sent.messages);
    // A bucket has sums over all tensor ranks and sums over those with the same heads.
    if (op.kind == OpKind::TensorSum) add(groups_.same_heads, sent.messages);
  }
  std::uint64_t bytes = 0;
  for (const auto& [group, most] : held) bytes += most.all + most.between_nodes;
  return bytes;
}

namespace {

// Kind of the instruction that completes the message `start` begins; `start` itself if it waits.
OpKind end_of(OpKind start) {
  switch (start) {
    case OpKind::SendActivationStart:
      return OpKind::SendActivationWait;
    case OpKind::RecvActivationStart:
      return OpKind::RecvActivationWait;
    case OpKind::SendGradientStart:
      return OpKind::SendGradientWait;
    case OpKind::RecvGradientStart:
      return OpKind::RecvGradientWait;
    case OpKind::ReduceStart:
      return OpKind::ReduceWait;
    case OpKind::GatherStart:
      return OpKind::GatherWait;
    default:
      return start;
  }
}

bool receives(const Op& op) {
  return op.kind == OpKind::RecvActivationStart || op.kind == OpKind::RecvGradientStart;
}

// Key of an instruction in the map of messages under way, without the micro-batch that reductions
// name under ZeRO-2: a bucket has one reduction at a time.
Op key_of(Op op) {
  if (op.kind == OpKind::ReduceWait) op.microbatch = 0;
  return op;
}

}  // namespace

std::uint64_t OpMessages::peak_staged(const Plan& plan) const {
  StagingMemory memory(true);
  std::map<Op, int> under_way;  // staged pieces, by the instruction that completes the message
  for (const Op& op : plan) {
    if (const auto found = under_way.find(key_of(op)); found != under_way.end()) {
      memory.release(found->second);
      under_way.erase(found);
      continue;
    }
    const Messages sent = receives(op) ? planned_send(boundary_bytes_) : of(op).messages;
    if (sent.staged == 0) continue;
    std::vector<int> pieces;
    for (int i = 0; i < sent.at_once; ++i) pieces.push_back(memory.take(sent.staged));
    Op end = op;
    end.kind = end_of(op.kind);
    if (end.kind == op.kind)
      for (const int piece : pieces) memory.release(piece);
    else
      under_way.emplace(key_of(end), pieces.front());
  }
  return static_cast<std::uint64_t>(memory.bytes());
}

SharingGroups::SharingGroups(const PlacedConfig& config) {
  const GridShape grid = grid_shape(config.parallel);
  const auto sharing = [&](Axis axis) {
    return config.place.ranks_sharing[static_cast<std::size_t>(axis)];
  };
  for (const Axis axis : all_axes)
    axes[static_cast<std::size_t>(axis)] = {grid.size(axis), sharing(axis)};
  const DataShard cut = data_shard(config, 0);
  const int data = sharing(Axis::data);
  shard = {cut.size, run_of_groups(data, 1, cut.size)};
  across_shards = {cut.groups, run_of_groups(data, cut.size, cut.groups)};
  // With a single key and value head the group is the tensor axis itself.
  const int copies = head_shard(config.model, {grid.tensor, 0}).kv_copies;
  const int same = copies < grid.tensor ? copies : 1;
  same_heads = {same, run_of_groups(sharing(Axis::tensor), 1, same)};
  const int last = grid.pipeline > 1 ? 2 : 1;
  ends = {last, sharing(Axis::pipeline) == grid.pipeline ? last : 1};
}

const SharingGroups::Group& SharingGroups::of(OpKind kind, Axis axis) const {
  switch (kind) {
    case OpKind::ReduceStart:
    case OpKind::GatherStart:
    case OpKind::DirectionGather:
    case OpKind::DirectionBroadcast:
      return shard;
    case OpKind::ReplicaSum:
      return across_shards;
    case OpKind::TiedSum:
      return ends;
    default:
      return axes[static_cast<std::size_t>(axis)];
  }
}

std::int64_t SharingGroups::Group::slot_bytes() const {
  if (ranks <= 1 || sharing <= 1) return 0;
  return sharing == ranks ? node::slot_bytes(ranks) : 2 * node::slot_bytes(sharing);
}

// If all ranks share memory, any sum may use messages instead: choose_sizes measures at the start
// of a run which is faster. Across nodes, small sums use messages, and those that a node's ranks
// cannot cut, which any all-reduce may be.
SharingGroups::Group::Held SharingGroups::Group::held_for(const Messages& messages) const {
  const std::uint64_t part = messages.part;
  if (sharing == 1 || sharing == ranks) return {direct::held_bytes(ranks, part), 0};
  const bool uncut = messages.all_reduce.messages > 0;
  const std::uint64_t small = std::min(part, direct::part_bytes(ranks, node::least_bytes));
  return {direct::held_bytes(ranks, uncut ? part : small),
          direct::held_bytes(ranks / sharing, part)};
}

std::int64_t shared_slot_bytes(const PlacedConfig& config) {
  const SharingGroups groups(config);
  std::int64_t bytes = groups.ends.slot_bytes() + groups.same_heads.slot_bytes();
  for (const SharingGroups::Group& axis : groups.axes) bytes += axis.slot_bytes();
  const bool hybrid = groups.shard.ranks > 1 && groups.across_shards.ranks > 1;
  return hybrid ? bytes + groups.shard.slot_bytes() + groups.across_shards.slot_bytes() : bytes;
}

MessagePlan plan_messages(const PlacedConfig& config, const StepPlans& plans) {
  MessagePlan plan;
  Counter counter(config, plan);
  for (int stage = 0; stage < config.parallel.pipeline; ++stage) {
    const auto ops = counted(plans.training[static_cast<std::size_t>(stage)]);
    for (int rank = 0; rank < config.parallel.tensor; ++rank)
      counter.add(make_stage(config, stage, rank, StageUse::plan), ops);
  }
  return plan;
}

}  // namespace triax
