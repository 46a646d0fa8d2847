// SPDX-License-Identifier: Apache-2.0
#include "src/model/stage/stage.hpp"

#include <algorithm>
#include <set>

#include "kernels/attention/rope.hpp"
#include "src/config/rope_kinds.hpp"
#include "src/model/block/block_layer.hpp"
#include "src/model/families/attention_kind.hpp"
#include "src/model/families/families.hpp"
#include "src/model/stage/partition.hpp"

namespace triax {

namespace {

Shape table_shape(const Rotary& rotary, std::int64_t sequence_length) {
  return {2, sequence_length, rotary.size / 2};
}

}  // namespace

Stage::Stage(const ModelConfig& model, const StagePlace& place, std::int64_t sequence_length,
             const RecomputeConfig& recompute, StageUse use, const MemorySource& memory)
    : place_(place), use_(use), adapters_(model.lora) {
  place_.tensor.sequence_parallel = place.tensor.sequence_parallel && place.tensor.size > 1;
  const TensorShard& shard = place_.tensor;
  const std::vector<Tensor> ropes = make_ropes(model, sequence_length, memory);
  const int total = place.stages * place.chunks;
  const std::vector<int> cuts = place.layers.empty()
                                    ? partition_blocks(model, total, sequence_length)
                                    : cuts_of(place.layers);
  int blocks = 0;  // of this stage so far
  for (int chunk = 0; chunk < place.chunks; ++chunk) {
    const int global = chunk * place.stages + place.stage;
    first_blocks_.push_back(cuts[static_cast<std::size_t>(global)]);
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
      const int rope = attention_kind(model, b).rope;
      add(std::make_unique<BlockLayer>(
              model, b, shard, rope < 0 ? Tensor{} : ropes[static_cast<std::size_t>(rope)],
              counts ? recompute.what : Recompute::none, recompute.keep_outputs),
          "block " + std::to_string(b));
    }
    if (global == total - 1) add(std::make_unique<HeadLayer>(model, shard), "head");
  }
}

// Tables of rotary positions; without memory if the stage only serves a plan.
std::vector<Tensor> Stage::make_ropes(const ModelConfig& model, std::int64_t sequence_length,
                                      const MemorySource& memory) {
  const std::vector<Rotary> rotaries = rotaries_of(model);
  for (const Rotary& rotary : rotaries)
    table_bytes_ +=
        table_shape(rotary, sequence_length).elements() * static_cast<std::int64_t>(sizeof(float));
  std::vector<Tensor> ropes(rotaries.size());
  if (use_ == StageUse::plan || rotaries.empty()) return ropes;
  rope_ = memory.take("tables", static_cast<std::size_t>(table_bytes_));
  const Tensor all =
      rope_.tensor(DType::f32, {table_bytes_ / static_cast<std::int64_t>(sizeof(float))});
  const Stream stream(memory.space);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < rotaries.size(); ++i) {
    const Rotary& rotary = rotaries[i];
    const Shape shape = table_shape(rotary, sequence_length);
    ropes[i] = all.slice(0, at, shape.elements()).reshape(shape);
    at += shape.elements();
    const RopeAngles angles =
        rope_angles(rotary.scaling, {rotary.theta, rotary.size, model.positions, sequence_length});
    rope_table(stream, ropes[i], angles.frequencies, angles.factor);
  }
  return ropes;
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
        if (seen.insert(piece.name).second)
          tensors.push_back(
              {piece.name, piece.global, spec.trained, spec.adapter, spec.of_base, spec.matrix});
  return tensors;
}

ModelConfig base_of(ModelConfig model) {
  model.lora = {};
  model.kept = {};
  return model;
}

}  // namespace triax
