// SPDX-License-Identifier: Apache-2.0
#include "src/model/block/attention_layer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/activation/elementwise.hpp"
#include "kernels/attention/cached_attention.hpp"
#include "kernels/attention/paged/paged_attention.hpp"
#include "kernels/attention/paged/paged_rope.hpp"
#include "kernels/attention/rope.hpp"
#include "src/model/families/attention_kind.hpp"
#include "src/model/packed/packed_rows.hpp"

namespace triax {
namespace {

// Heads (1, rows, H, D) as (rows, H, D).
Tensor as_rows(const Tensor& heads) {
  return heads.restrided({heads.size(1), heads.size(2), heads.size(3)},
                         {heads.stride(1), heads.stride(2), 1});
}

// Positions of the tokens in their documents, (B, T); empty: each sequence is one document.
Tensor positions(const Context& ctx) {
  if (ctx.positions.empty()) return {};
  return ctx.positions.slice(0, 0, ctx.shape.tokens())
      .reshape({ctx.shape.batch, ctx.shape.sequence});
}

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
      scale_(model.attention_scale > 0.0F
                 ? model.attention_scale
                 : static_cast<float>(1.0 / std::sqrt(static_cast<double>(model.head_size)))),
      soft_cap_(model.attention_soft_cap),
      window_(attention_kind(model, layer).window),
      layer_(layer),
      recompute_(recompute),
      rope_(rope),
      qkv_(qkv_projection(model, layer, shard)),
      output_(attention_output(model, layer, shard)),
      qk_norm_(model, layer, shard),
      params_(qkv_.params()) {
  for (const auto* list : {&output_.params(), &qk_norm_.params()})
    params_.insert(params_.end(), list->begin(), list->end());
}

AttentionLayer::Frame AttentionLayer::carve(Arena& arena, const BatchShape& shape) const {
  Frame frame;
  frame.qkv = arena.take("qkv", shape.type, {shape.rows, width()});
  if (qk_norm_) frame.squares = qk_norm_.carve(arena, shape);
  if (!recompute_) frame.core = carve_core(arena, shape);
  frame.qkv_norms = qkv_.carve_norms(arena);
  frame.output_norms = output_.carve_norms(arena);
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
    if (qk_norm_) take_normed(arena, shape);
  });
  const Shape queries{shape.batch, shape.sequence, heads_.heads, head_size_};
  const std::size_t attention =
      packed_context(shape) > 0
          ? paged_attention_scratch_bytes({shape.sequence, heads_.heads, head_size_},
                                          heads_.kv_heads, packed_context(shape))
      : shape.past == 0 ? attention_scratch_bytes(queries, shape.type, shape.space)
                        : cached_attention_scratch_bytes(queries, shape.past + shape.sequence);
  return own + std::max({attention, qkv_.scratch_bytes(shape), output_.scratch_bytes(shape),
                         qk_norm_ ? qk_norm_.scratch_bytes(shape) : 0});
}

Tensor AttentionLayer::take_normed(Arena& arena, const BatchShape& shape) const {
  return arena.take("normed queries and keys", shape.type,
                    {shape.rows, (heads_.heads + heads_.kv_heads) * head_size_});
}

Tensor AttentionLayer::heads_at(const BatchShape& shape, const Tensor& rows, std::int64_t first,
                                std::int64_t heads) const {
  const std::int64_t w = rows.stride(0);
  return rows.slice(1, first * head_size_, heads * head_size_)
      .restrided({shape.batch, shape.sequence, heads, head_size_},
                 {shape.sequence * w, w, head_size_, 1});
}

AttentionLayer::Views AttentionLayer::views(const BatchShape& shape, const Tensor& qkv) const {
  return {heads_at(shape, qkv, 0, heads_.heads),
          heads_at(shape, qkv, heads_.heads, heads_.kv_heads),
          heads_at(shape, qkv, heads_.heads + heads_.kv_heads, heads_.kv_heads)};
}

AttentionLayer::Views AttentionLayer::ready(const Context& ctx, const Tensor* weights,
                                            const Frame& frame, bool again) const {
  const Views x = views(ctx.shape, frame.qkv);
  if (!qk_norm_) {
    if (!again && !rope_.empty()) rotate(ctx, x);
    return x;
  }
  const Tensor normed = take_normed(ctx.scratch, ctx.shape);
  const Views y = {heads_at(ctx.shape, normed, 0, heads_.heads),
                   heads_at(ctx.shape, normed, heads_.heads, heads_.kv_heads), x.v};
  if (!again) qk_norm_.sum(ctx, {x.q, x.k}, frame.squares);
  qk_norm_.normalise(ctx, weights + qk_norm_at(), {x.q, x.k}, frame.squares, {y.q, y.k});
  if (!rope_.empty()) rotate(ctx, y);
  return y;
}

AttentionOptions AttentionLayer::options(const Context& ctx) const {
  AttentionOptions options;
  options.scale = scale_;
  options.window = window_;
  options.soft_cap = soft_cap_;
  options.positions = positions(ctx);
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
  if (const PackedRows* packed = packed_rows(ctx)) {
    const std::int64_t tokens = packed->page_tokens;
    store_pages(ctx.stream, packed->cache, tokens, as_rows(x.k), as_rows(x.v), packed->chunks);
    paged_attention(ctx.stream, as_rows(out), as_rows(x.q), packed->cache, tokens, packed->chunks,
                    options(ctx), ctx.scratch);
  } else if (ctx.shape.past == 0)
    attention_forward(ctx.stream, out, core.lse, x.q, x.k, x.v, options(ctx), ctx.scratch);
  else
    attend_to_cache(ctx, out, x.q);
  clear_padding(ctx, core.out);
}

// Rotates queries and keys by their positions, which start at `past`.
void AttentionLayer::rotate(const Context& ctx, const Views& x) const {
  if (const PackedRows* packed = packed_rows(ctx)) {
    for (const Tensor* heads : {&x.q, &x.k})
      paged_rope(ctx.stream, as_rows(*heads), rope_, packed->positions);
    return;
  }
  const std::int64_t past = ctx.shape.past;
  const Tensor angles = rope_.slice(1, past, rope_.size(1) - past);
  rope_forward(ctx.stream, x.q, angles, positions(ctx));
  rope_forward(ctx.stream, x.k, angles, positions(ctx));
}

void AttentionLayer::keep(const Context& ctx, const Views& x) const {
  check(ctx.shape.batch == 1, "a cache of {} sequences", ctx.shape.batch);
  const std::int64_t tokens = ctx.shape.sequence;
  const std::int64_t half = cache_width() / 2;
  const Tensor to = ctx.cache.slice(0, ctx.shape.past, tokens);
  const auto rows = [&](const Tensor& heads) {
    return heads.restrided({tokens, half}, {heads.stride(1), 1});
  };
  copy_rows(ctx.stream, to.slice(1, 0, half), rows(x.k));
  copy_rows(ctx.stream, to.slice(1, half, half), rows(x.v));
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
  cached_attention(ctx.stream, out, q, half(0), half(1), options(ctx), ctx.scratch);
}

void AttentionLayer::forward(const Context& ctx, const Tensor* weights, const Tensor& h,
                             const Tensor& partial, const Frame& frame) const {
  qkv_.forward(ctx, weights, h, frame.qkv, {}, frame.qkv_norms);
  const ArenaScope scope(ctx.scratch);
  const Views x = ready(ctx, weights, frame, /*again=*/false);
  if (!ctx.cache.empty()) keep(ctx, x);
  const Core made = core(ctx, frame);
  attend(ctx, x, made);
  output_.forward(ctx, weights + output_at(), made.out, partial, {}, frame.output_norms);
}

ComingRows AttentionLayer::backward(const Context& ctx, const Tensor* weights,
                                    const Gradient* gradients, ComingRows h, ComingRows dpartial,
                                    const Tensor& dh, const Tensor& local,
                                    const Frame& frame) const {
  const ArenaScope scope(ctx.scratch);
  const Scratch scratch(ctx.scratch, ctx.shape, output_.inputs(), width());
  const Views x = ready(ctx, weights, frame, /*again=*/true);
  const Core made = core(ctx, frame);
  if (recompute_) attend(ctx, x, made);
  output_.backward_weight(ctx, weights + output_at(), gradients + output_at(), made.out,
                          dpartial.wait(ctx), frame.output_norms);
  output_.backward_input(ctx, weights + output_at(), dpartial.rows, scratch.dout, {},
                         frame.output_norms);
  const Views dx = views(ctx.shape, scratch.dqkv);
  {
    const ArenaScope kernel_scope(ctx.scratch);
    attention_backward(ctx.stream, dx.q, dx.k, dx.v,
                       as_heads(ctx.shape, scratch.dout, heads_.heads, head_size_),
                       as_heads(ctx.shape, made.out, heads_.heads, head_size_), made.lse, x.q, x.k,
                       x.v, options(ctx), ctx.scratch);
  }
  if (!rope_.empty()) {
    rope_backward(ctx.stream, dx.q, rope_, positions(ctx));
    rope_backward(ctx.stream, dx.k, rope_, positions(ctx));
  }
  if (qk_norm_) {
    const Views raw = views(ctx.shape, frame.qkv);
    qk_norm_.backward(ctx, weights + qk_norm_at(), gradients + qk_norm_at(), {raw.q, raw.k},
                      frame.squares, {dx.q, dx.k});
  }
  clear_padding(ctx, scratch.dqkv);
  return qkv_.backward_between_messages(ctx, weights, gradients, std::move(h), scratch.dqkv, dh,
                                        local, frame.qkv_norms);
}

}  // namespace triax
