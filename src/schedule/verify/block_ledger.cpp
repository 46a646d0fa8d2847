// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/verify/block_ledger.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "src/schedule/verify/require.hpp"

namespace triax {
namespace {

std::vector<BlockUse> uses_of(const PlanShape& shape, int stage) {
  return shape.blocks.empty() ? std::vector<BlockUse>{} : shape.blocks[stage];
}

int pools_of(const std::vector<BlockUse>& uses) {
  int pools = 1;
  for (const BlockUse& use : uses) pools = std::max(pools, use.pool + 1);
  return pools;
}

std::vector<OpKind> life_of(const BlockUse& block, const PlanShape& shape) {
  std::vector<OpKind> life;
  if (!block.trained) return life;
  if (block.tensor_sum && !shape.shards_gradients()) life.push_back(OpKind::TensorSum);
  if (!shape.shards_gradients() && shape.data_parallel)
    life.insert(life.end(), {OpKind::ReduceStart, OpKind::ReduceWait});
  if (shape.replicas) life.push_back(OpKind::ReplicaSum);
  if (block.tensor_sum && shape.shards_gradients()) life.push_back(OpKind::TensorSum);
  if (block.tied) life.push_back(OpKind::TiedSum);
  life.push_back(OpKind::GradientNorm);
  if (block.orthogonal) {
    life.push_back(OpKind::Momentum);
    if (shape.shards_optimizer()) life.push_back(OpKind::DirectionGather);
    life.push_back(OpKind::Orthogonalize);
    if (shape.data_parallel) life.push_back(OpKind::DirectionBroadcast);
  }
  life.push_back(OpKind::Step);
  if (shape.shards_optimizer() && !shape.shards_parameters(block))
    life.insert(life.end(), {OpKind::GatherStart, OpKind::GatherWait});
  return life;
}

std::string name_of(int block) {
  return "block " + std::to_string(block);
}

std::string name_of(int block, OpKind kind) {
  return text_of(Op{.kind = kind, .block = block, .part = all});
}

}  // namespace

BlockLedger::BlockLedger(const PlanShape& shape, int stage)
    : windows_(shape.shards_gradients()),
      whole_gradients_(static_cast<int>(uses_of(shape, stage).size()),
                       pools_of(uses_of(shape, stage))),
      gathered_(whole_gradients_),
      stores_(uses_of(shape, stage)) {
  for (const BlockUse& use : uses_of(shape, stage)) {
    Block& block = blocks_.emplace_back();
    block.use = use;
    block.sharded = shape.shards_parameters(use);
    block.life = life_of(use, shape);
    const int layers = use.trained ? static_cast<int>(use.layers.size()) : 0;
    block.writes_left = layers * shape.microbatches;
    block.backwards.assign(shape.microbatches, layers);
    block.parameters = block.sharded ? Parameters::absent : Parameters::whole;
    block.pieces.assign(block.sharded ? 1 : use.gathers(), Parameters::absent);
    block.absent_pieces = static_cast<int>(block.pieces.size());
    block.written.assign(use.layers.size(), false);
    block.weights = block.written;
    for (const LayerUse& layer : use.layers)
      block.last.push_back(shape.last_write(stage, layer.chunk, layer.layer));
    block.begun.assign(shape.microbatches, false);
  }
}

bool BlockLedger::has_part(const Op& op) const {
  const bool gather = op.kind == OpKind::GatherStart || op.kind == OpKind::GatherWait;
  const auto pieces = static_cast<int>(blocks_[op.block].pieces.size());
  if (gather) return pieces == 1 ? op.part == all : op.part >= 0 && op.part < pieces;
  const int parts = blocks_[op.block].use.parts;
  const bool steps = op.kind == OpKind::Step || op.kind == OpKind::Momentum;
  return parts == 0 ? steps && op.part == all : op.part >= 0 && op.part < parts;
}

void BlockLedger::read(const Op& op) const {
  for (int b = 0; b < size(); ++b)
    for (const LayerUse& use : blocks_[b].use.layers)
      if (use.is(op) && (op.kind != OpKind::Backward || use.reads_backward))
        require(blocks_[b].parameters == Parameters::whole,
                "the parameters of " + name_of(b) +
                    (blocks_[b].parameters == Parameters::absent ? " are not gathered"
                                                                 : " are in flight"));
}

void BlockLedger::write(const Op& op) {
  for (int b = 0; b < size(); ++b) {
    Block& block = blocks_[b];
    if (!block.use.trained) continue;
    for (std::size_t u = 0; u < block.use.layers.size(); ++u) {
      const LayerUse& use = block.use.layers[u];
      if (!use.is(op) || (op.kind == OpKind::Forward && !use.writes_forward)) continue;
      if (windows_)
        require(block.gradient == Gradient::open, "the gradient of " + name_of(b) + " is not open");
      write(block, u, op);
      if (op.kind == block.last[u]) --block.writes_left;
    }
  }
}

// Within a window, or the step if there are none, the first micro-batch writes each layer's
// gradient before any other adds to it.
void BlockLedger::write(Block& block, std::size_t use, const Op& op) {
  std::vector<bool>& written = op.kind == OpKind::WeightGradient ? block.weights : block.written;
  require(written[use] || op.microbatch == block.first, "the gradient was opened for micro-batch " +
                                                            std::to_string(block.first) +
                                                            ", which must write first");
  written[use] = true;
  if (!block.begun[op.microbatch]) ++block.under_way;
  block.begun[op.microbatch] = true;
  if (op.kind == block.last[use] && --block.backwards[op.microbatch] == 0) --block.under_way;
}

void BlockLedger::execute(const Op& op) {
  if (group_of(op.kind) == OpGroup::store) return store(op);
  switch (op.kind) {
    case OpKind::GradientNorm:
      require(!norm_done_, "the norm is taken twice");
      for (int b = 0; b < size(); ++b)
        if (blocks_[b].use.trained) advance(b, op.kind);
      norm_done_ = true;
      return;
    case OpKind::GradientOpen:
      return open(op.block, op.microbatch);
    case OpKind::ReduceStart:
    case OpKind::ReduceWait:
      return windows_ ? reduce(op.block, op.kind) : advance(op.block, op.kind);
    case OpKind::GatherStart:
    case OpKind::GatherWait:
    case OpKind::Release:
      return blocks_[op.block].sharded ? gather(op.block, op.kind) : gather_piece(op);
    case OpKind::Momentum:
      return momentum(op);
    case OpKind::Step:
      return step(op);
    default:
      return advance(op.block, op.kind);
  }
}

void BlockLedger::open(int index, int microbatch) {
  Block& block = blocks_[index];
  require(windows_, "gradients are whole all the time");
  require(block.gradient == Gradient::shard, "the gradient is whole already");
  require(block.use.trained, name_of(index) + " is frozen");
  require(block.writes_left > 0, name_of(index) + " is written no more");
  whole_gradients_.acquire(index, block.use.pool);
  block.gradient = Gradient::open;
  block.first = microbatch;
  block.written.assign(block.written.size(), false);
}

void BlockLedger::reduce(int index, OpKind kind) {
  Block& block = blocks_[index];
  const bool start = kind == OpKind::ReduceStart;
  require(block.gradient == (start ? Gradient::open : Gradient::reducing),
          start ? "the gradient is not whole" : "no reduction is under way");
  if (start) {
    require(block.under_way == 0, std::to_string(block.under_way) +
                                      " micro-batches have yet to finish " + name_of(index));
    require(std::find(block.written.begin(), block.written.end(), true) != block.written.end(),
            "nothing was written");
    block.gradient = Gradient::reducing;
    return;
  }
  whole_gradients_.release(index, block.use.pool);
  block.gradient = Gradient::shard;
}

void BlockLedger::gather(int index, OpKind kind) {
  Parameters& state = blocks_[index].parameters;
  switch (kind) {
    case OpKind::GatherStart:
      require(state == Parameters::absent, "the parameters are gathered already");
      stores_.require_loaded(index);
      gathered_.acquire(index, blocks_[index].use.pool);
      state = Parameters::gathering;
      return;
    case OpKind::GatherWait:
      require(state == Parameters::gathering, "the parameters are not in flight");
      state = Parameters::whole;
      return;
    default:
      require(state == Parameters::whole, "the parameters are not gathered");
      gathered_.release(index, blocks_[index].use.pool);
      state = Parameters::absent;
  }
}

// The pieces of a block may come in any order; the block is gathered when all have come.
void BlockLedger::gather_piece(const Op& op) {
  Block& block = blocks_[op.block];
  const bool start = op.kind == OpKind::GatherStart;
  if (start || op.kind != OpKind::GatherWait) check_next(op.block, op.kind);
  Parameters& piece = block.pieces[op.part == all ? 0 : op.part];
  require(piece == (start ? Parameters::absent : Parameters::gathering),
          start ? "it is gathered already" : "it is not in flight");
  piece = start ? Parameters::gathering : Parameters::whole;
  block.absent_pieces -= start ? 1 : 0;
  block.gathering_pieces += start ? 1 : -1;
  if (block.absent_pieces == 0 && (start || block.gathering_pieces == 0)) ++block.done;
}

// One block at a time has the buffer of directions.
void BlockLedger::momentum(const Op& op) {
  check_next(op.block, op.kind);
  require(direction_ < 0 || direction_ == op.block,
          "the directions of " + name_of(direction_) + " would be overwritten");
  direction_ = op.block;
  if (stores_.momentum(op)) ++blocks_[op.block].done;
}

// The parts of a block may be stepped in any order; the block is stepped when all are.
void BlockLedger::step(const Op& op) {
  Block& block = blocks_[op.block];
  require(!block.sharded || block.parameters == Parameters::absent,
          "the gathered parameters of " + name_of(op.block) + " would be out of date");
  check_next(op.block, op.kind);
  if (!stores_.step(op)) return;
  ++block.done;
  if (block.use.orthogonal) direction_ = -1;
}

void BlockLedger::store(const Op& op) {
  require(op.kind != OpKind::Unload || blocks_[op.block].parameters != Parameters::gathering,
          "the parameters are being gathered");
  stores_.execute(op);
}

void BlockLedger::advance(int index, OpKind kind) {
  check_next(index, kind);
  ++blocks_[index].done;
}

void BlockLedger::check_next(int index, OpKind kind) const {
  const Block& block = blocks_[index];
  const std::string name = name_of(index);
  require(block.use.trained, name + " is frozen");
  require(block.writes_left == 0,
          std::to_string(block.writes_left) + " backwards have yet to write " + name);
  require(block.gradient == Gradient::shard, "the gradient of " + name + " is not reduced");
  require(block.done < block.life.size(), name + " is finished");
  require(block.life[block.done] == kind,
          "the next for " + name + " is " + name_of(index, block.life[block.done]));
}

void BlockLedger::check_done() const {
  require(norm_done_, text_of(Op{OpKind::GradientNorm}) + " is missing");
  for (int b = 0; b < size(); ++b)
    if (blocks_[b].done < blocks_[b].life.size())
      throw std::logic_error(name_of(b, blocks_[b].life[blocks_[b].done]) + " is missing");
}

void BlockLedger::check_released() const {
  require(gathered_.in_use() == 0, "gathered parameters are left in use");
  stores_.check_stored();
}

}  // namespace triax
