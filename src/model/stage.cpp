// SPDX-License-Identifier: Apache-2.0
#include "src/model/stage.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "kernels/attention/rope.hpp"
#include "src/config/rope_kinds.hpp"
#include "src/model/architecture.hpp"
#include "src/model/block_layer.hpp"

namespace triax {

ForwardFlops forward_flops(const ModelConfig& model, std::int64_t sequence_length) {
  const double e = model.hidden;
  const double d = model.head_size;
  const double q = model.heads * d;
  const double kv = model.kv_heads * d;
  const double mlp_maps = traits_of(model).gated_mlp ? 3 : 2;
  const double weights = e * (q + 2 * kv) + q * e + mlp_maps * e * model.intermediate;
  const double attention =
      2 * q * static_cast<double>(sequence_length) / 2;  // causal: half of the square
  return {2 * (weights + attention), 2 * e * model.vocabulary};
}

double attention_flops_per_token(const ModelConfig& model, std::int64_t sequence_length) {
  const double causal = static_cast<double>(sequence_length) / 2;
  const double width = static_cast<double>(model.heads) * model.head_size;
  return 3.0 * model.layers * 2 * (2 * width * causal);
}

double training_flops_per_token(const ModelConfig& model, std::int64_t sequence_length) {
  const ForwardFlops flops = forward_flops(model, sequence_length);
  return 3.0 * (model.layers * flops.block + flops.head);
}

std::vector<int> partition_blocks(const ModelConfig& model, int chunks,
                                  std::int64_t sequence_length) {
  const int blocks = model.layers;
  if (chunks > blocks)
    throw UsageError(
        fmt::format("{} transformer blocks cannot fill {} pipeline chunks", blocks, chunks),
        "each stage, or each chunk of an interleaved stage, needs at least one",
        "Lower parallel.pipeline or parallel.chunks");
  const ForwardFlops cost = forward_flops(model, sequence_length);
  const auto chunk_cost = [&](int count, int chunk) {
    return count * cost.block + (chunk == chunks - 1 ? cost.head : 0.0);
  };
  // least[c][b]: cost of the most expensive of the first c chunks when they hold b blocks. Ties go
  // to even cuts.
  const auto n = static_cast<std::size_t>(blocks) + 1;
  const double never = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> least(static_cast<std::size_t>(chunks) + 1,
                                         std::vector<double>(n, never));
  std::vector<std::vector<int>> from(static_cast<std::size_t>(chunks) + 1, std::vector<int>(n, 0));
  least[0][0] = 0.0;
  for (int c = 1; c <= chunks; ++c) {
    const auto row = static_cast<std::size_t>(c);
    for (int end = c; end <= blocks; ++end) {
      const auto column = static_cast<std::size_t>(end);
      for (int begin = c - 1; begin < end; ++begin) {
        const double dearest = std::max(least[row - 1][static_cast<std::size_t>(begin)],
                                        chunk_cost(end - begin, c - 1));
        if (dearest <= least[row][column]) {
          least[row][column] = dearest;
          from[row][column] = begin;
        }
      }
    }
  }
  std::vector<int> cuts(static_cast<std::size_t>(chunks) + 1, blocks);
  for (int c = chunks; c > 0; --c) {
    const auto row = static_cast<std::size_t>(c);
    cuts[row - 1] = from[row][static_cast<std::size_t>(cuts[row])];
  }
  return cuts;
}

Stage::Stage(const ModelConfig& model, const StagePlace& place, std::int64_t sequence_length,
             const RecomputeConfig& recompute, StageUse use, const MemorySource& memory)
    : place_(place), use_(use) {
  place_.tensor.sequence_parallel = place.tensor.sequence_parallel && place.tensor.size > 1;
  const TensorShard& shard = place_.tensor;
  Tensor rope;
  if (traits_of(model).rotary) {
    const Shape shape{2, sequence_length, model.head_size / 2};
    table_bytes_ = shape.elements() * static_cast<std::int64_t>(sizeof(float));
    if (use == StageUse::run) {
      rope_ = memory.take("tables", static_cast<std::size_t>(table_bytes_));
      rope = rope_.tensor(DType::f32, shape);
      const Stream stream(memory.space);
      const RopeAngles angles = rope_angles(model, sequence_length);
      rope_table(stream, rope, angles.frequencies, angles.factor);
    }
  }
  const int total = place.stages * place.chunks;
  const std::vector<int> cuts = partition_blocks(model, total, sequence_length);
  int blocks = 0;  // of this stage so far
  for (int chunk = 0; chunk < place.chunks; ++chunk) {
    const int global = chunk * place.stages + place.stage;
    auto& layers = layers_.emplace_back();
    auto& names = names_.emplace_back();
    const auto add = [&](std::unique_ptr<Layer> layer, const std::string& name) {
      layers.push_back(std::move(layer));
      names.push_back(name);
    };
    if (global == 0)
      add(std::make_unique<EmbeddingLayer>(model, shard,
                                           model.tied_embeddings && place.stages == 1),
          "embedding");
    for (int b = cuts[static_cast<std::size_t>(global)];
         b < cuts[static_cast<std::size_t>(global) + 1]; ++b) {
      const bool counts = recompute.layers == 0 || blocks++ < recompute.layers;
      add(std::make_unique<BlockLayer>(model, b, shard, rope,
                                       counts ? recompute.what : Recompute::none,
                                       recompute.keep_outputs),
          "block " + std::to_string(b));
    }
    if (global == total - 1) add(std::make_unique<HeadLayer>(model, shard), "head");
  }
}

const HeadLayer& Stage::head() const {
  check(has_head(), "stage {} of {} has no head", place_.stage, place_.stages);
  return dynamic_cast<const HeadLayer&>(*layers_.back().back());
}

std::size_t Stage::scratch_bytes(const BatchShape& shape) const {
  std::size_t most = 0;
  for (const auto& chunk : layers_)
    for (const auto& layer : chunk) most = std::max(most, layer->scratch_bytes(shape));
  return most;
}

std::vector<GlobalTensor> global_tensors(const ModelConfig& model) {
  const Stage whole(model, {}, 1, {}, StageUse::plan);
  std::vector<GlobalTensor> tensors;
  std::set<std::string> seen;
  for (int layer = 0; layer < whole.layers(0); ++layer)
    for (const ParameterSpec& spec : whole.layer(0, layer).params())
      for (const Piece& piece : spec.pieces)
        if (seen.insert(piece.name).second) tensors.push_back({piece.name, piece.global});
  return tensors;
}

}  // namespace triax
