#include "src/schedule/verify/block_ledger.hpp"

#include <stdexcept>

namespace triax {
namespace {

std::vector<OpKind> life_of(const BlockUse& block, const PlanShape& shape) {
  std::vector<OpKind> life;
  if (block.tensor_sum) life.push_back(OpKind::TensorSum);
  if (shape.data_parallel) life.insert(life.end(), {OpKind::ReduceStart, OpKind::ReduceWait});
  if (block.tied) life.push_back(OpKind::TiedSum);
  life.insert(life.end(), {OpKind::GradientNorm, OpKind::Step});
  if (shape.shard_optimizer) life.insert(life.end(), {OpKind::GatherStart, OpKind::GatherWait});
  return life;
}

std::string name_of(int block, OpKind kind) {
  return text_of(Op{.kind = kind, .block = block});
}

}  // namespace

BlockLedger::BlockLedger(const PlanShape& shape, int stage) {
  for (const int layers : shape.layers[stage]) writers_.emplace_back(layers);
  if (shape.blocks.empty()) return;
  for (const BlockUse& use : shape.blocks[stage]) {
    for (const auto& [chunk, layer] : use.layers) writers_[chunk][layer].push_back(size());
    blocks_.push_back({.life = life_of(use, shape),
                       .writes_left = static_cast<int>(use.layers.size()) * shape.microbatches});
  }
}

void BlockLedger::count_backward(int chunk, int layer) {
  for (const int block : writers_[chunk][layer]) --blocks_[block].writes_left;
}

void BlockLedger::execute(const Op& op) {
  if (op.kind != OpKind::GradientNorm) return advance(op.block, op.kind);
  if (norm_done_) throw std::logic_error("the norm is taken twice");
  for (int b = 0; b < size(); ++b) advance(b, op.kind);
  norm_done_ = true;
}

void BlockLedger::check_end() const {
  if (!norm_done_) throw std::logic_error(text_of(Op{OpKind::GradientNorm}) + " is missing");
  for (int b = 0; b < size(); ++b)
    if (blocks_[b].done < blocks_[b].life.size())
      throw std::logic_error(name_of(b, blocks_[b].life[blocks_[b].done]) + " is missing");
}

void BlockLedger::advance(int block, OpKind kind) {
  Block& b = blocks_[block];
  const std::string name = "block " + std::to_string(block);
  if (b.writes_left > 0)
    throw std::logic_error(std::to_string(b.writes_left) + " backwards have yet to write " + name);
  if (b.done == b.life.size()) throw std::logic_error(name + " is finished");
  if (b.life[b.done] != kind)
    throw std::logic_error("the next for " + name + " is " + name_of(block, b.life[b.done]));
  ++b.done;
}

}  // namespace triax
