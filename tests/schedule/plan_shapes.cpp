// SPDX-License-Identifier: Apache-2.0
#include "tests/schedule/plan_shapes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace triax::test {
namespace {

int layers_of(Layers layers, int stage, int chunk) {
  switch (layers) {
    case Layers::one:
      return 1;
    case Layers::two:
      return 2;
    case Layers::uneven:
      return 1 + (stage + 2 * chunk) % 3;
  }
  return 0;
}

bool is_model_first(int stage, int chunk, int layer) {
  return stage == 0 && chunk == 0 && layer == 0;
}

bool is_model_last(const PlanShape& shape, int stage, int chunk, int layer) {
  return stage == shape.stages - 1 && chunk == shape.chunks - 1 &&
         layer == shape.layers[stage][chunk] - 1;
}

// The first layer of a chunk has a block of its own, and so has the model's last layer; the others
// share one.
std::vector<BlockUse> blocks_of(const PlanShape& shape, int stage, const ShapeOptions& options) {
  std::vector<BlockUse> blocks;
  const bool tied_here = options.tied && shape.stages == 1;
  for (int c = 0; c < shape.chunks; ++c)
    for (int l = 0; l < shape.layers[stage][c]; ++l) {
      const bool first = is_model_first(stage, c, l);
      const bool last = is_model_last(shape, stage, c, l);
      if (last && !first && tied_here) {
        for (LayerUse& use : blocks.front().layers) use.reads_backward = false;
        blocks.front().layers.push_back({c, l, true, false});
        continue;
      }
      if (l <= 1 || last) {
        blocks.emplace_back();
        blocks.back().tensor_sum = options.tensor_sum && blocks.size() % 2 == 1;
        blocks.back().tied = options.tied && shape.stages > 1 && (first || last);
      }
      blocks.back().layers.push_back({c, l, last, !first});
    }
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    blocks[b].elements = static_cast<std::int64_t>(10 * (b + 1));
    blocks[b].pool = b == 0 ? 1 : 0;
    blocks[b].orthogonal = options.matrices && b % 2 == 1 && !blocks[b].tied;
    if (options.persistent && b % 3 == 2) blocks[b].parameters = Residence::whole;
    if (options.pieces) blocks[b].gather_piece = static_cast<std::int64_t>(4 * b);
    if (options.offload == 0) continue;
    blocks[b].parts = static_cast<int>((b + 2) % 4);
    blocks[b].kept_parts = blocks[b].parts > 1 ? blocks[b].parts % 2 : 0;
    if (shape.shards_parameters(blocks[b]) && b % 4 != 1)
      blocks[b].parameters =
          options.in_store && b % 3 != 0 ? Residence::stepped_in_store : Residence::stored;
  }
  return blocks;
}

// Freezes the blocks of layers without backward pass, and some of the others; the tied ones as one.
void freeze(PlanShape& shape) {
  for (int s = 0; s < shape.stages; ++s)
    for (std::size_t b = 0; b < shape.blocks[s].size(); ++b) {
      BlockUse& block = shape.blocks[s][b];
      const bool reached = std::ranges::all_of(block.layers, [&](const LayerUse& use) {
        return shape.runs_backward(s, use.chunk, use.layer);
      });
      block.trained = reached && b % 4 != 3 && !block.tied;
      if (block.trained) continue;
      block.tied = block.tensor_sum = block.orthogonal = false;
      block.parts = block.kept_parts = 0;
      block.gather_piece = 0;
      block.parameters = std::min(block.parameters, Residence::stored);
    }
}

}  // namespace

PlanShape make_shape(const ShapeOptions& options) {
  PlanShape shape;
  shape.stages = options.stages;
  shape.chunks = options.chunks;
  shape.microbatches = options.microbatches;
  shape.matching = options.matching;
  shape.partition_inputs = options.partition;
  shape.offload_inputs = options.host_inputs;
  shape.data_parallel = options.data_parallel;
  shape.zero = options.zero;
  shape.replicas = options.replicas;
  shape.gather_ahead = options.ahead;
  if (shape.shards_gradients()) shape.reduce_ahead = options.ahead;
  if (options.offload > 0) {
    shape.state_buffers = options.offload;
    shape.fetch_ahead = options.offload >= 2;
    shape.store_behind = options.offload >= 3;
    shape.shard_buffers = options.offload - 1;
  }
  for (int s = 0; s < options.stages; ++s) {
    auto& layers = shape.layers.emplace_back();
    for (int c = 0; c < options.chunks; ++c) layers.push_back(layers_of(options.layers, s, c));
  }
  if (options.frozen) {
    const int chunk = (options.stages * options.chunks) / 2;
    shape.first_trained = {chunk, shape.layers[chunk % options.stages][chunk / options.stages] / 2};
  }
  for (int s = 0; s < options.stages; ++s) {
    shape.blocks.push_back(blocks_of(shape, s, options));
    std::vector<std::vector<bool>> marks;
    std::vector<std::vector<int>> pools, operands;
    for (int c = 0; c < options.chunks; ++c) {
      auto& mark = marks.emplace_back();
      auto& pool = pools.emplace_back();
      auto& operand = operands.emplace_back();
      for (int l = 0; l < shape.layers[s][c]; ++l) {
        mark.push_back(options.recompute == Marks::all || (s + c + l) % 2 == 0);
        const bool first = is_model_first(s, c, l), last = is_model_last(shape, s, c, l);
        pool.push_back(first ? 1 : last ? 2 : 0);
        operand.push_back(first || last ? no_operands : 3);
      }
    }
    if (options.recompute != Marks::none) shape.recompute.push_back(marks);
    if (options.pools) shape.frame_pool.push_back(pools);
    if (options.operands) shape.operand_pool.push_back(operands);
  }
  if (options.frozen) freeze(shape);
  return shape;
}

std::string text_of(const ShapeOptions& o) {
  static constexpr const char* layers[] = {"one", "two", "uneven"};
  static constexpr const char* marks[] = {"none", "all", "some"};
  return std::to_string(o.stages) + " stages, " + std::to_string(o.chunks) + " chunks, " +
         std::to_string(o.microbatches) + " micro-batches" +
         (o.matching == MessageMatching::by_order ? " by order" : "") + ", layers " +
         layers[static_cast<int>(o.layers)] + ", recompute " +
         marks[static_cast<int>(o.recompute)] + (o.partition ? ", partitioned" : "") +
         (o.host_inputs ? ", inputs on the host" : "") + (o.pools ? ", pools" : "") +
         (o.operands ? ", operands" : "") + (o.data_parallel ? ", data parallel" : "") + ", ZeRO " +
         std::to_string(static_cast<int>(o.zero)) + ", ahead " + std::to_string(o.ahead) +
         (o.persistent ? ", persistent" : "") + (o.pieces ? ", pieces" : "") +
         (o.replicas ? ", replicas" : "") +
         (o.offload > 0 ? ", offload to " + std::to_string(o.offload) + " buffers" : "") +
         (o.in_store ? ", stepped there" : "") + (o.tied ? ", tied" : "") +
         (o.tensor_sum ? ", tensor sum" : "") + (o.frozen ? ", frozen" : "") +
         (o.matrices ? ", matrices" : "");
}

PlanShape three_layers(ZeroStage zero, std::int64_t ahead) {
  PlanShape shape{
      .stages = 1, .microbatches = 2, .layers = {{3}}, .data_parallel = true, .zero = zero};
  shape.reduce_ahead = shape.gather_ahead = ahead;
  shape.blocks = {{{.layers = {{0, 0, false, false}, {0, 2, true, false}}, .elements = 100},
                   {.layers = {{0, 1}}, .tensor_sum = true, .elements = 30, .pool = 1},
                   {.layers = {{0, 2}}, .parameters = Residence::whole, .elements = 5, .pool = 2}}};
  return shape;
}

std::vector<std::string> lines_of(const Plan& plan) {
  std::vector<std::string> lines;
  for (const Op& op : plan) lines.push_back(text_of(op));
  return lines;
}

std::ptrdiff_t position_of(const Plan& plan, const Op& op) {
  const auto found = std::find(plan.begin(), plan.end(), op);
  EXPECT_NE(found, plan.end()) << text_of(op);
  return found - plan.begin();
}

}  // namespace triax::test
