// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/plan.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace triax {
namespace {

// One row per OpKind, in its order.
struct OpRow {
  OpKind kind;
  const char* verb;
  const char* phase;  // written after the fields
  OpFields fields;
  OpGroup group;
  bool sends = false;
};
constexpr bool sent = true;

constexpr OpFields on_layer{.chunk = true, .layer = true, .microbatch = true};
constexpr OpFields on_message{.chunk = true, .microbatch = true};
constexpr OpFields on_block{.block = true};
constexpr OpFields on_part{.block = true, .part = true};

constexpr std::array<OpRow, op_kind_count> op_rows{{
    {OpKind::Forward, "F", "", on_layer, OpGroup::compute, sent},
    {OpKind::Recompute, "R", "", on_layer, OpGroup::compute, sent},
    {OpKind::Backward, "B", "", on_layer, OpGroup::compute, sent},
    {OpKind::WeightGradient, "W", "", on_layer, OpGroup::compute},
    {OpKind::DropFrame, "drop frame", "", on_layer, OpGroup::buffer},
    {OpKind::DropInput, "drop input", "", on_layer, OpGroup::buffer},
    {OpKind::PartitionInput, "part input", "", on_layer, OpGroup::buffer},
    {OpKind::GatherInput, "gather input", "", on_layer, OpGroup::buffer, sent},
    {OpKind::OffloadInputStart, "offload input", " start", on_layer, OpGroup::buffer},
    {OpKind::OffloadInputWait, "offload input", " wait", on_layer, OpGroup::buffer},
    {OpKind::ReloadInputStart, "reload input", " start", on_layer, OpGroup::buffer},
    {OpKind::ReloadInputWait, "reload input", " wait", on_layer, OpGroup::buffer},
    {OpKind::SendActivationStart, "send act", " start", on_message, OpGroup::message, sent},
    {OpKind::SendActivationWait, "send act", " wait", on_message, OpGroup::message},
    {OpKind::RecvActivationStart, "recv act", " start", on_message, OpGroup::message},
    {OpKind::RecvActivationWait, "recv act", " wait", on_message, OpGroup::message},
    {OpKind::SendGradientStart, "send grad", " start", on_message, OpGroup::message, sent},
    {OpKind::SendGradientWait, "send grad", " wait", on_message, OpGroup::message},
    {OpKind::RecvGradientStart, "recv grad", " start", on_message, OpGroup::message},
    {OpKind::RecvGradientWait, "recv grad", " wait", on_message, OpGroup::message},
    {OpKind::ExchangeBegin, "exchange", " begin", {}, OpGroup::message},
    {OpKind::ExchangeEnd, "exchange", " end", {}, OpGroup::message},
    {OpKind::GradientOpen, "open grad", "", {.microbatch = true, .block = true}, OpGroup::block},
    {OpKind::ReplicaSum, "replica sum", "", on_block, OpGroup::block, sent},
    {OpKind::TensorSum, "tensor sum", "", on_block, OpGroup::block, sent},
    {OpKind::ReduceStart, "reduce", " start", on_block, OpGroup::block, sent},
    {OpKind::ReduceWait, "reduce", " wait", on_block, OpGroup::block},
    {OpKind::TiedSum, "tied sum", "", on_block, OpGroup::block, sent},
    {OpKind::GradientNorm, "norm", "", {}, OpGroup::block},
    {OpKind::Momentum, "momentum", "", on_part, OpGroup::block},
    {OpKind::DirectionGather, "gather direction", "", on_block, OpGroup::block, sent},
    {OpKind::Orthogonalize, "orthogonalize", "", on_block, OpGroup::block, sent},
    {OpKind::DirectionBroadcast, "broadcast direction", "", on_block, OpGroup::block, sent},
    {OpKind::Step, "step", "", on_part, OpGroup::block},
    {OpKind::GatherStart, "gather", " start", on_part, OpGroup::block, sent},
    {OpKind::GatherWait, "gather", " wait", on_part, OpGroup::block},
    {OpKind::Release, "release", "", on_block, OpGroup::block},
    {OpKind::FetchStart, "fetch", " start", on_part, OpGroup::store},
    {OpKind::FetchWait, "fetch", " wait", on_part, OpGroup::store},
    {OpKind::StoreStart, "store", " start", on_part, OpGroup::store},
    {OpKind::StoreWait, "store", " wait", on_part, OpGroup::store},
    {OpKind::LoadStart, "load", " start", on_block, OpGroup::store},
    {OpKind::LoadWait, "load", " wait", on_block, OpGroup::store},
    {OpKind::Unload, "unload", "", on_block, OpGroup::store},
    {OpKind::SaveStart, "save", " start", on_block, OpGroup::store},
    {OpKind::SaveWait, "save", " wait", on_block, OpGroup::store},
}};

constexpr bool rows_follow_the_enum() {
  for (int i = 0; i < op_kind_count; ++i)
    if (static_cast<int>(op_rows[i].kind) != i) return false;
  return true;
}
static_assert(rows_follow_the_enum());

const OpRow& row_of(OpKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  if (index >= op_rows.size()) throw std::out_of_range("there is no such instruction");
  return op_rows[index];
}

void require(bool ok, const std::string& text) {
  if (!ok) throw std::invalid_argument(text);
}

std::string place(int stage, int chunk) {
  return "stage " + std::to_string(stage) + ", chunk " + std::to_string(chunk);
}

void check_layers(const PlanShape& shape) {
  require(std::ssize(shape.layers) == shape.stages, "the shape's layers need one entry per stage");
  for (int s = 0; s < shape.stages; ++s) {
    require(std::ssize(shape.layers[s]) == shape.chunks,
            "the shape's layers need one entry per chunk on stage " + std::to_string(s));
    for (int c = 0; c < shape.chunks; ++c)
      require(shape.layers[s][c] >= 1,
              place(s, c) +
                  " has no layer (the model has fewer layers than pipeline stages x chunks). Lower "
                  "parallel.pipeline or parallel.chunks");
  }
}

void check_first_trained(const PlanShape& shape) {
  const auto [chunk, layer] = shape.first_trained;
  require(chunk >= 0 && chunk < shape.stages * shape.chunks && layer >= 0 &&
              layer < shape.layers[chunk % shape.stages][chunk / shape.stages],
          "the first trained layer does not exist");
}

// Checks a table with one value per layer, or an empty one.
template <class Table>
void check_layer_table(const PlanShape& shape, const Table& table, const std::string& name) {
  if (table.empty()) return;
  require(std::ssize(table) == shape.stages, "the shape's " + name + " needs one entry per stage");
  for (int s = 0; s < shape.stages; ++s) {
    require(std::ssize(table[s]) == shape.chunks,
            "the shape's " + name + " needs one entry per chunk on stage " + std::to_string(s));
    for (int c = 0; c < shape.chunks; ++c)
      require(std::ssize(table[s][c]) == shape.layers[s][c],
              "the shape's " + name + " needs one entry per layer on " + place(s, c));
  }
}

void check_block(const PlanShape& shape, int stage, int index) {
  const BlockUse& block = shape.blocks[stage][index];
  const std::string name = "block " + std::to_string(index) + " of stage " + std::to_string(stage);
  require(!block.layers.empty(), name + " has no layer that reads its parameters");
  for (const LayerUse& use : block.layers) {
    require(use.chunk >= 0 && use.chunk < shape.chunks && use.layer >= 0 &&
                use.layer < shape.layers[stage][use.chunk],
            name + " names a layer that does not exist");
    require(!block.trained || shape.runs_backward(stage, use.chunk, use.layer),
            name + " is trained, and a layer of it has no backward pass");
    require(std::count_if(block.layers.begin(), block.layers.end(),
                          [&](const LayerUse& other) {
                            return other.chunk == use.chunk && other.layer == use.layer;
                          }) == 1,
            name + " names a layer twice");
  }
  require(block.elements >= 1 && block.pool >= 0,
          name + " needs one element or more, and a pool counted from 0");
  require(block.parts >= 0 && block.kept_parts >= 0 && block.kept_parts <= block.parts,
          name + " keeps more parts than it has");
  require(block.gather_piece >= 0, name + " is gathered in pieces of no elements");
  require(
      block.trained || (!block.tensor_sum && !block.tied && !block.orthogonal && block.parts == 0),
      name + " is frozen, and has a gradient or optimizer state");
  require(!block.stored() || shape.shards_parameters(block),
          name + " has no shard of its parameters to store");
}

void check_blocks(const PlanShape& shape) {
  if (shape.blocks.empty()) return;
  require(std::ssize(shape.blocks) == shape.stages, "the shape's blocks need one entry per stage");
  std::vector<int> tied(shape.stages, 0);
  for (int s = 0; s < shape.stages; ++s)
    for (int b = 0; b < std::ssize(shape.blocks[s]); ++b) {
      check_block(shape, s, b);
      if (shape.blocks[s][b].tied) ++tied[s];
    }
  if (std::all_of(tied.begin(), tied.end(), [](int n) { return n == 0; })) return;
  std::vector<int> ends(shape.stages, 0);
  ends.front() = ends.back() = 1;
  require(shape.stages > 1 && tied == ends,
          "a tied tensor needs two stages or more, one tied block on the first, one on the last, "
          "none between");
}

}  // namespace

OpFields fields_of(OpKind kind) {
  return row_of(kind).fields;
}

OpGroup group_of(OpKind kind) {
  return row_of(kind).group;
}

bool sends(OpKind kind) {
  return row_of(kind).sends;
}

bool PlanShape::recomputes(int stage, int chunk, int layer) const {
  return !recompute.empty() && recompute[stage][chunk][layer] && runs_backward(stage, chunk, layer);
}

bool PlanShape::keeps_input(int stage, int chunk, int layer) const {
  const bool first = stage == 0 && chunk == 0 && layer == 0;
  return !first && recomputes(stage, chunk, layer);
}

bool PlanShape::partitions(int stage, int chunk, int layer) const {
  return partition_inputs && keeps_input(stage, chunk, layer);
}

bool PlanShape::offloads(int stage, int chunk, int layer) const {
  return offload_inputs && keeps_input(stage, chunk, layer);
}

bool PlanShape::defers_weights(int stage, int chunk, int layer) const {
  return !operand_pool.empty() && operand_pool[stage][chunk][layer] != no_operands &&
         runs_backward(stage, chunk, layer);
}

int PlanShape::pool(int stage, int chunk, int layer) const {
  return frame_pool.empty() ? 0 : frame_pool[stage][chunk][layer];
}

void check_shape(const PlanShape& shape) {
  require(shape.stages >= 1, "a plan needs one stage or more");
  require(shape.chunks >= 1, "a plan needs one chunk per stage or more");
  require(shape.microbatches >= 1, "a plan needs one micro-batch or more");
  check_layers(shape);
  check_first_trained(shape);
  check_layer_table(shape, shape.recompute, "recompute");
  check_layer_table(shape, shape.frame_pool, "frame_pool");
  check_layer_table(shape, shape.operand_pool, "operand_pool");
  require(shape.operand_pool.empty() || !shape.shards_gradients(),
          "weight gradients apart from the backward pass need whole gradients (ZeRO-0 or ZeRO-1)");
  for (const auto& stage : shape.frame_pool)
    for (const auto& chunk : stage)
      for (const int pool : chunk) require(pool >= 0, "the shape's frame pools are counted from 0");
  check_blocks(shape);
  require(shape.state_buffers >= 1, "a plan needs one buffer for optimizer state or more");
}

std::string text_of(const Op& op) {
  if (const auto kind = static_cast<int>(op.kind); kind >= op_kind_count)
    return "unknown instruction " + std::to_string(kind);
  const OpRow& row = row_of(op.kind);
  std::string text = row.verb;
  if (row.fields.chunk) text += " c" + std::to_string(op.chunk);
  if (row.fields.layer && op.layer != all) text += " l" + std::to_string(op.layer);
  if (row.fields.microbatch) text += " m" + std::to_string(op.microbatch);
  if (row.fields.block) text += " b" + std::to_string(op.block);
  if (row.fields.part && op.part != all) text += " p" + std::to_string(op.part);
  return text + row.phase;
}

std::string text_of(const Plan& plan) {
  const std::size_t width = std::to_string(plan.empty() ? 0 : plan.size() - 1).size();
  std::string text;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::string position = std::to_string(i);
    text += std::string(width - position.size(), ' ') + position + "  " + text_of(plan[i]) + "\n";
  }
  return text;
}

}  // namespace triax
