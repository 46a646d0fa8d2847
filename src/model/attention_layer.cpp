// SPDX-License-Identifier: Apache-2.0
#include "src/model/attention_layer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/activation/elementwise.hpp"
#include "kernels/attention/cached_attention.hpp"
#include "kernels/attention/rope.hpp"

namespace triax {
namespace {

// Zeroes the padding rows after the real ones.
void clear_padding(const Context& ctx, const Tensor& rows) {
  const std::int64_t tokens = ctx.shape.tokens();
  if (rows.size(0) > tokens) fill_zero(ctx.stream, rows.slice(0, tokens, rows.size(0) - tokens));
}

}  // namespace

struct AttentionLayer::Views {
  Tensor q, k, v;
};

struct AttentionLayer::Scratch {
  Tensor dout;  // (rows, H D)
  Tensor dqkv;  // (rows, (H + 2 Hkv) D)
  Scratch(Arena& arena, const BatchShape& shape, std::int64_t out_width, std::int64_t qkv_width)
      : dout(arena.take("attention output gradient", shape.type, {shape.rows, out_width})),
        dqkv(arena.take("qkv gradient", shape.type, {shape.rows, qkv_width})) {}
};

AttentionLayer::AttentionLayer(const ModelConfig& model, int layer, const TensorShard& shard,
                               const Tensor& rope, bool recompute)
    : heads_(head_shard(model, shard)),
      total_heads_(model.heads),
      head_size_(model.head_size),
      dropout_(model.attention_dropout),
      layer_(layer),
      recompute_(recompute),
      rope_(rope),
      qkv_(qkv_projection(model, layer, shard)),
      output_(attention_output(model, layer, shard)),
      params_(qkv_.params()) {
  params_.insert(params_.end(), output_.params().begin(), output_.params().end());
}

AttentionLayer::Frame AttentionLayer::carve(Arena& arena, const BatchShape& shape) const {
  Frame frame;
  frame.qkv = arena.take("qkv", shape.type, {shape.rows, width()});
  if (!recompute_) frame.core = carve_core(arena, shape);
  return frame;
}

AttentionLayer::Core AttentionLayer::carve_core(Arena& arena, const BatchShape& shape) const {
  return {arena.take("attention output", shape.type, {shape.rows, output_.inputs()}),
          arena.take("attention lse", DType::f32, {shape.batch, heads_.heads, shape.sequence})};
}

AttentionLayer::Core AttentionLayer::core(const Context& ctx, const Frame& frame) const {
  return recompute_ ? carve_core(ctx.scratch, ctx.shape) : frame.core;
}

std::size_t AttentionLayer::scratch_bytes(const BatchShape& shape) const {
  const std::size_t own = measure([&](Arena& arena) {
    Scratch(arena, shape, output_.inputs(), width());
    if (recompute_) carve_core(arena, shape);
  });
  const Shape queries{shape.batch, shape.sequence, heads_.heads, head_size_};
  const std::size_t attention =
      shape.past == 0 ? attention_scratch_bytes(queries, shape.type, shape.space)
                      : cached_attention_scratch_bytes(queries, shape.past + shape.sequence);
  return own + std::max({attention, qkv_.scratch_bytes(shape), output_.scratch_bytes(shape)});
}

AttentionLayer::Views AttentionLayer::views(const BatchShape& shape, const Tensor& qkv) const {
  const auto heads_at = [&](std::int64_t first, std::int64_t heads) {
    const std::int64_t w = width();
    return qkv.slice(1, first * head_size_, heads * head_size_)
        .restrided({shape.batch, shape.sequence, heads, head_size_},
                   {shape.sequence * w, w, head_size_, 1});
  };
  return {heads_at(0, heads_.heads), heads_at(heads_.heads, heads_.kv_heads),
          heads_at(heads_.heads + heads_.kv_heads, heads_.kv_heads)};
}

float AttentionLayer::scale() const {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_size_)));
}

AttentionOptions AttentionLayer::options(const Context& ctx) const {
  AttentionOptions options;
  options.scale = scale();
  if (ctx.training && dropout_ > 0.0F) {
    options.dropout = {dropout_, dropout_key(ctx, layer_, DropoutPlace::attention)};
    options.first_batch = ctx.first_sample;
    options.first_head = heads_.first_head;
    options.total_heads = total_heads_;
  }
  return options;
}

namespace {

Tensor as_heads(const BatchShape& shape, const Tensor& rows, std::int64_t heads,
                std::int64_t head_size) {
  return rows.slice(0, 0, shape.tokens()).reshape({shape.batch, shape.sequence, heads, head_size});
}

}  // namespace

void AttentionLayer::attend(const Context& ctx, const Views& x, const Core& core) const {
  const ArenaScope scope(ctx.scratch);
  const Tensor out = as_heads(ctx.shape, core.out, heads_.heads, head_size_);
  if (ctx.shape.past == 0)
    attention_forward(ctx.stream, out, core.lse, x.q, x.k, x.v, options(ctx), ctx.scratch);
  else
    attend_to_cache(ctx, out, x.q);
  clear_padding(ctx, core.out);
}

// Rotates queries and keys by their positions, which start at `past`.
void AttentionLayer::rotate(const Context& ctx, const Views& x) const {
  const std::int64_t past = ctx.shape.past;
  const Tensor angles = rope_.slice(1, past, rope_.size(1) - past);
  rope_forward(ctx.stream, x.q, angles);
  rope_forward(ctx.stream, x.k, angles);
}

// Keys and values lie after the queries in qkv, in the order of the cache.
void AttentionLayer::keep(const Context& ctx, const Tensor& qkv) const {
  check(ctx.shape.batch == 1, "a cache of {} sequences", ctx.shape.batch);
  const std::int64_t tokens = ctx.shape.sequence;
  copy_rows(ctx.stream, ctx.cache.slice(0, ctx.shape.past, tokens),
            qkv.slice(0, 0, tokens).slice(1, output_.inputs(), cache_width()));
}

void AttentionLayer::attend_to_cache(const Context& ctx, const Tensor& out, const Tensor& q) const {
  const std::int64_t positions = ctx.shape.past + ctx.shape.sequence;
  const std::int64_t row = ctx.cache.stride(0);
  const auto half = [&](std::int64_t number) {
    return ctx.cache.slice(0, 0, positions)
        .slice(1, number * cache_width() / 2, cache_width() / 2)
        .restrided({1, positions, heads_.kv_heads, head_size_},
                   {positions * row, row, head_size_, 1});
  };
  cached_attention(ctx.stream, out, q, half(0), half(1), {.scale = scale()}, ctx.scratch);
}

void AttentionLayer::forward(const Context& ctx, const Tensor* weights, const Tensor& h,
                             const Tensor& partial, const Frame& frame) const {
  qkv_.forward(ctx, weights, h, frame.qkv);
  const Views x = views(ctx.shape, frame.qkv);
  if (!rope_.empty()) rotate(ctx, x);
  if (!ctx.cache.empty()) keep(ctx, frame.qkv);
  const ArenaScope scope(ctx.scratch);
  const Core made = core(ctx, frame);
  attend(ctx, x, made);
  output_.forward(ctx, weights + output_at(), made.out, partial);
}

ComingRows AttentionLayer::backward(const Context& ctx, const Tensor* weights,
                                    const Gradient* gradients, ComingRows h, ComingRows dpartial,
                                    const Tensor& dh, const Tensor& local,
                                    const Frame& frame) const {
  const ArenaScope scope(ctx.scratch);
  const Scratch scratch(ctx.scratch, ctx.shape, output_.inputs(), width());
  const Views x = views(ctx.shape, frame.qkv);
  const Core made = core(ctx, frame);
  if (recompute_) attend(ctx, x, made);
  output_.backward_weight(ctx, gradients + output_at(), made.out, dpartial.wait(ctx));
  output_.backward_input(ctx, weights + output_at(), dpartial.rows, scratch.dout);
  const Views dx = views(ctx.shape, scratch.dqkv);
  {
    const ArenaScope kernel_scope(ctx.scratch);
    attention_backward(ctx.stream, dx.q, dx.k, dx.v,
                       as_heads(ctx.shape, scratch.dout, heads_.heads, head_size_),
                       as_heads(ctx.shape, made.out, heads_.heads, head_size_), made.lse, x.q, x.k,
                       x.v, options(ctx), ctx.scratch);
  }
  if (!rope_.empty()) {
    rope_backward(ctx.stream, dx.q, rope_);
    rope_backward(ctx.stream, dx.k, rope_);
  }
  clear_padding(ctx, scratch.dqkv);
  return qkv_.backward_between_messages(ctx, weights, gradients, std::move(h), scratch.dqkv, dh,
                                        local);
}

}  // namespace triax
