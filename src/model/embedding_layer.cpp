// SPDX-License-Identifier: Apache-2.0
#include "src/model/embedding_layer.hpp"

#include <algorithm>

#include "kernels/activation/elementwise.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/random/dropout.hpp"
#include "kernels/random/noise.hpp"
#include "src/model/families/families.hpp"
#include "src/model/packed/packed_rows.hpp"

namespace triax {

VocabularyShard vocabulary_shard(std::int64_t vocabulary, const TensorShard& shard) {
  constexpr std::int64_t multiple = 16;
  const std::int64_t unit = shard.size * multiple;
  const std::int64_t rows = (vocabulary + unit - 1) / unit * multiple;
  const std::int64_t first = rows * shard.rank;
  return {rows, first, std::clamp<std::int64_t>(vocabulary - first, 0, rows)};
}

ParameterSpec vocabulary_parameter(const std::string& label, const std::string& name,
                                   const ModelConfig& model, const TensorShard& shard, bool tied) {
  const VocabularyShard split = vocabulary_shard(model.vocabulary, shard);
  const std::int64_t width = model.hidden;
  const Piece piece{name,
                    {model.vocabulary, width},
                    {std::min<std::int64_t>(split.first, model.vocabulary), 0},
                    {split.columns, width},
                    {0, 0}};
  return {label, {split.rows, width}, {piece}, Initial::normal, model.initializer_range, tied};
}

EmbeddingLayer::EmbeddingLayer(const ModelConfig& model, const TensorShard& shard, bool shares_head)
    : width_(model.hidden),
      dropout_(model.embedding_dropout),
      scale_(model.embedding_scale),
      shard_(shard),
      shares_head_(shares_head),
      vocabulary_(vocabulary_shard(model.vocabulary, shard)) {
  const ModelNames& names = family_of(model).block.outside;
  params_.push_back(vocabulary_parameter("embedding.tokens", names.token_embedding, model, shard,
                                         model.tied_embeddings));
  positions_ = *names.position_embedding != '\0';
  if (positions_)
    params_.push_back(replicated_parameter(
        "embedding.positions", names.position_embedding, {model.positions, width_}, shard,
        shard.sequence_parallel, Initial::normal, model.initializer_range));
  for (ParameterSpec& table : params_) table.read_in_backward = false;
  mark_trained(params_, model);
}

std::size_t EmbeddingLayer::scratch_bytes(const BatchShape& shape) const {
  const std::size_t rows = measure([&](Arena& arena) {
    arena.take("embedding rows", shape.type, {shape.rows, width_});
    if (dropout_ > 0.0F) arena.take("dropout gradient", shape.type, {shape.local_rows, width_});
    if (positions_ && shape.documents) take_position_rows(arena, shape);
  });
  std::size_t sums = embedding_scratch_bytes({shape.rows, width_}, vocabulary_.rows, shape.space);
  if (positions_ && shape.documents)
    sums = std::max(sums, embedding_scratch_bytes({shape.local_rows, width_},
                                                  params_.back().shape[0], shape.space));
  return rows + sums;
}

Tensor EmbeddingLayer::take_position_rows(Arena& arena, const BatchShape& shape) const {
  return arena.take("position rows", shape.type, {shape.local_rows, width_});
}

LayerMessages EmbeddingLayer::messages(const BatchShape& shape) const {
  return {reduce_rows_messages(shard_, shape, width_), gather_rows_messages(shard_, shape, width_)};
}

namespace {

// Positions of the rows that this rank keeps between layers.
Tensor local_positions(const Context& ctx) {
  return ctx.positions.slice(0, ctx.shape.first_row, ctx.shape.local_rows);
}

}  // namespace

void EmbeddingLayer::forward(const Context& ctx, const LayerParameters& params, const Tensor&,
                             const Tensor& y, const Tensor&) const {
  const ArenaScope scope(ctx.scratch);
  const bool whole = !shard_.sequence_parallel;
  const Tensor partial =
      whole ? y : ctx.scratch.take("embedding rows", ctx.shape.type, {ctx.shape.rows, width_});
  embedding_forward(ctx.stream, partial, ctx.tokens, params.weights[0], vocabulary_.first, scale_);
  reduce_rows(ctx, partial, y).wait(ctx);
  if (ctx.training && ctx.embedding_noise > 0.0F)
    add_noise(ctx.stream, y,
              {ctx.embedding_noise, dropout_key(ctx, 0, DropoutPlace::embedding_noise)},
              first_element(ctx, width_));
  if (const PackedRows* packed = packed_rows(ctx); positions_ && packed != nullptr) {
    const Tensor rows =
        ctx.scratch.take("embedding rows", ctx.shape.type, {ctx.shape.rows, width_});
    embedding_forward(ctx.stream, rows, packed->positions, params.weights[1], 0);
    residual_forward(ctx.stream, y, y, rows, Tensor{});
  } else if (positions_ && ctx.shape.documents) {
    const Tensor rows = take_position_rows(ctx.scratch, ctx.shape);
    embedding_forward(ctx.stream, rows, local_positions(ctx), params.weights[1], 0);
    residual_forward(ctx.stream, y, y, rows, Tensor{});
  } else if (positions_) {
    const Tensor& all = params.weights[1];
    const Tensor from_here = all.slice(0, ctx.shape.past, all.size(0) - ctx.shape.past);
    position_forward(ctx.stream, y, from_here, ctx.shape.first_row, ctx.shape.sequence);
  }
  if (ctx.training && dropout_ > 0.0F)
    dropout(ctx.stream, y, y, {dropout_, dropout_key(ctx, 0, DropoutPlace::embedding)},
            first_element(ctx, width_));
}

void EmbeddingLayer::backward(const Context& ctx, const LayerParameters& params, const Tensor&,
                              const Tensor& dy, const Tensor&, const Tensor&) const {
  const ArenaScope scope(ctx.scratch);
  Tensor gradient = dy;
  if (dropout_ > 0.0F) {
    gradient = ctx.scratch.take("dropout gradient", ctx.shape.type, {ctx.shape.local_rows, width_});
    dropout(ctx.stream, gradient, dy, {dropout_, dropout_key(ctx, 0, DropoutPlace::embedding)},
            first_element(ctx, width_));
  }
  const bool learns_positions = positions_ && !params.gradients[1].data.empty();
  if (learns_positions && ctx.shape.documents)
    embedding_backward(ctx.stream, params.gradients[1].data, local_positions(ctx), gradient, 0,
                       params.gradients[1].accumulate, ctx.scratch);
  else if (learns_positions)
    position_backward(ctx.stream, params.gradients[1].data, gradient, ctx.shape.first_row,
                      ctx.shape.sequence, params.gradients[1].accumulate);
  const bool whole = !shard_.sequence_parallel;
  const Tensor full =
      whole ? Tensor{}
            : ctx.scratch.take("embedding rows", ctx.shape.type, {ctx.shape.rows, width_});
  const Tensor rows = gather_rows(ctx, gradient, full).wait(ctx);
  if (params.gradients[0].data.empty()) return;
  embedding_backward(ctx.stream, params.gradients[0].data, ctx.tokens, rows, vocabulary_.first,
                     params.gradients[0].accumulate || shares_head_, ctx.scratch, scale_);
}

}  // namespace triax
