// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/verify/store_ledger.hpp"

#include <algorithm>
#include <string>

#include "src/schedule/verify/require.hpp"

namespace triax {
namespace {

int parts_of(const BlockUse& block) {
  return std::max(block.parts, 1);
}

int parts_of(const std::vector<BlockUse>& blocks) {
  int parts = 0;
  for (const BlockUse& block : blocks) parts += parts_of(block);
  return parts;
}

int pools_of(const std::vector<BlockUse>& blocks) {
  int pools = 1;
  for (const BlockUse& block : blocks) pools = std::max(pools, block.pool + 1);
  return pools;
}

}  // namespace

StoreLedger::StoreLedger(const std::vector<BlockUse>& blocks)
    : state_buffers_(parts_of(blocks), 1),
      shard_buffers_(static_cast<int>(blocks.size()), pools_of(blocks)) {
  int buffer = 0;
  for (const BlockUse& block : blocks) {
    auto& parts = parts_.emplace_back();
    kept_parts_.push_back(block.parts == 0 ? 1 : block.kept_parts);
    for (int p = 0; p < parts_of(block); ++p)
      parts.push_back({p < kept_parts_.back() ? State::present : State::stored, buffer++});
    shards_.push_back(
        {block.parameters, block.stored() ? State::stored : State::present, false, block.pool});
  }
}

void StoreLedger::execute(const Op& op) {
  if (fields_of(op.kind).part)
    move_part(op);
  else
    move_shard(op);
}

void StoreLedger::move_part(const Op& op) {
  require(op.part >= kept_parts_[op.block], "its optimizer state is in memory all the time");
  Part& part = parts_[op.block][op.part];
  switch (op.kind) {
    case OpKind::FetchStart:
      require(part.state == State::stored, "its optimizer state is not in the store");
      require(!part.stepped, "it was stepped before");
      state_buffers_.acquire(part.buffer, 0);
      part.state = State::coming;
      return;
    case OpKind::FetchWait:
      require(part.state == State::coming, "its optimizer state is not being fetched");
      part.state = State::present;
      return;
    case OpKind::StoreStart:
      require(part.state == State::present, "its optimizer state is not in memory");
      require(part.changed, "it has yet to be stepped");
      part.changed = false;
      part.state = State::going;
      return;
    default:
      require(part.state == State::going, "its optimizer state is not being stored");
      state_buffers_.release(part.buffer, 0);
      part.state = State::stored;
  }
}

void StoreLedger::move_shard(const Op& op) {
  Shard& shard = shards_[op.block];
  require(shard.residence >= Residence::stored, "its parameters are in memory all the time");
  const auto become = [&](State from, State to, const char* otherwise) {
    require(shard.state == from, otherwise);
    shard.state = to;
  };
  switch (op.kind) {
    case OpKind::LoadStart:
      become(State::stored, State::coming, "its parameters are not in the store");
      shard_buffers_.acquire(op.block, shard.pool);
      return;
    case OpKind::LoadWait:
      return become(State::coming, State::present, "its parameters are not being loaded");
    case OpKind::Unload:
      become(State::present, State::stored, "its parameters are not in memory");
      require(!shard.changed, "its parameters were stepped, and must be saved");
      return shard_buffers_.release(op.block, shard.pool);
    case OpKind::SaveStart:
      become(State::present, State::going, "its parameters are not in memory");
      require(shard.changed, "its parameters did not change");
      shard.changed = false;
      return;
    default:
      become(State::going, State::stored, "its parameters are not being saved");
      shard_buffers_.release(op.block, shard.pool);
  }
}

bool StoreLedger::momentum(const Op& op) {
  auto& parts = parts_[op.block];
  Part& part = parts[op.part == all ? 0 : op.part];
  require(part.state == State::present, "its optimizer state is not in memory");
  require(!part.momentum, "its momentum is taken twice");
  part.momentum = part.changed = true;
  return std::all_of(parts.begin(), parts.end(), [](const Part& p) { return p.momentum; });
}

bool StoreLedger::step(const Op& op) {
  Shard& shard = shards_[op.block];
  const bool in_store = shard.residence == Residence::stepped_in_store;
  if (in_store)
    require(shard.state == State::stored, "its loaded parameters would be out of date");
  else
    require_loaded(op.block);
  auto& parts = parts_[op.block];
  Part& part = parts[op.part == all ? 0 : op.part];
  require(part.state == State::present, "its optimizer state is not in memory");
  require(!part.stepped, "it is stepped twice");
  part.stepped = part.changed = true;
  shard.changed = !in_store;
  return std::all_of(parts.begin(), parts.end(), [](const Part& p) { return p.stepped; });
}

void StoreLedger::require_loaded(int block) const {
  require(shards_[block].state == State::present, "its parameters are not in memory");
}

void StoreLedger::check_stored() const {
  require(state_buffers_.in_use() == 0, "optimizer state is left in its buffers");
  require(shard_buffers_.in_use() == 0, "loaded parameters are left in their buffers");
}

}  // namespace triax
