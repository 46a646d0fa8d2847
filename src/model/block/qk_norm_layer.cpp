// SPDX-License-Identifier: Apache-2.0
#include "src/model/block/qk_norm_layer.hpp"

#include <algorithm>
#include <utility>

#include "kernels/norm/qk_norm.hpp"
#include "src/model/packed/packed_rows.hpp"

namespace triax {
namespace {

// The weight of a norm over all heads: this rank has those of its heads.
ParameterSpec sharded_weight(const std::string& label, const std::string& name, std::int64_t width,
                             std::int64_t begin, std::int64_t count, int copies, bool owner,
                             Initial initial) {
  ParameterSpec spec{label, {count}, {}, initial};
  spec.pieces.push_back(
      {name, {width}, {begin}, {count}, {0}, copies, owner, /*partial=*/copies > 1});
  return spec;
}

}  // namespace

// One of the two: x as (tokens, groups, width of a group), its sums, and its place in params_.
struct QkNormLayer::Side {
  Tensor x, sums;
  std::int64_t width;
  std::size_t at;
};

QkNormLayer::QkNormLayer(const ModelConfig& model, int layer, const TensorShard& shard)
    : kind_(family_of(model).block.qk_norm),
      heads_(head_shard(model, shard)),
      head_size_(model.head_size),
      query_width_(kind_ == QkNorm::head ? head_size_ : model.heads * head_size_),
      // The tensor ranks that hold the same keys add the same squares.
      key_width_(kind_ == QkNorm::head ? head_size_
                                       : model.kv_heads * head_size_ * heads_.kv_copies),
      epsilon_(model.norm_epsilon),
      offset_(family_of(model).block.norm_offset),
      tensor_size_(shard.size) {
  if (kind_ == QkNorm::none) return;
  const BlockNames& names = family_of(model).block.names;
  const std::string q = block_name(model, layer, names.q_norm) + ".weight";
  const std::string k = block_name(model, layer, names.k_norm) + ".weight";
  const Initial initial = offset_ == 0.0F ? Initial::one : Initial::zero;
  if (kind_ == QkNorm::head) {
    // Each rank sees its own heads only.
    for (const auto& [label, name] : {std::pair{"attention.q_norm", q}, {"attention.k_norm", k}})
      params_.push_back(
          replicated_parameter(label, name, {head_size_}, shard, shard.size > 1, initial));
    return;
  }
  const std::int64_t d = head_size_;
  params_.push_back(sharded_weight("attention.q_norm", q, model.heads * d, heads_.first_head * d,
                                   heads_.heads * d, 1, true, initial));
  params_.push_back(sharded_weight("attention.k_norm", k, model.kv_heads * d, heads_.first_kv * d,
                                   heads_.kv_heads * d, heads_.kv_copies,
                                   shard.rank % heads_.kv_copies == 0, initial));
}

Tensor QkNormLayer::carve(Arena& arena, const BatchShape& shape) const {
  return arena.take("query and key squares", DType::f32,
                    {shape.tokens() * (groups(heads_.heads) + groups(heads_.kv_heads))});
}

std::size_t QkNormLayer::scratch_bytes(const BatchShape& shape) const {
  const std::size_t dots = measure([&](Arena& arena) { carve(arena, shape); });
  const auto of = [&](std::int64_t heads) {
    const std::int64_t n = groups(heads);
    return qk_norm_scratch_bytes(shape.tokens(), n, heads * head_size_ / n, shape.space);
  };
  return dots + std::max(of(heads_.heads), of(heads_.kv_heads));
}

Messages QkNormLayer::messages(const BatchShape& shape) const {
  if (kind_ != QkNorm::width) return {};
  const std::int64_t sums = 2 * shape.tokens();
  return planned_all_reduce(tensor_size_, static_cast<std::uint64_t>(sums) * sizeof(float));
}

std::array<QkNormLayer::Side, 2> QkNormLayer::sides(const BatchShape& shape, const Heads& x,
                                                    const Tensor& sums) const {
  const std::int64_t n = shape.tokens();
  const auto grouped = [&](const Tensor& view) {
    const std::int64_t g = groups(view.size(2));
    const std::int64_t width = view.size(2) * head_size_ / g;
    return view.restrided({n, g, width}, {view.stride(1), width, 1});
  };
  const std::int64_t queries = n * groups(heads_.heads);
  const auto part = [&](std::int64_t begin, std::int64_t g) {
    return sums.slice(0, begin, n * g).reshape({n, g});
  };
  return {Side{grouped(x.q), part(0, groups(heads_.heads)), query_width_, 0},
          Side{grouped(x.k), part(queries, groups(heads_.kv_heads)), key_width_, 1}};
}

// Heads that belong together lie on all tensor ranks.
void QkNormLayer::add_over_ranks(const Context& ctx, const Tensor& sums) const {
  if (kind_ != QkNorm::width) return;
  if (packed_rows(ctx) != nullptr)
    reduce_rows(ctx, sums, Tensor{}).wait(ctx);
  else
    ctx.tensor.all_reduce(ctx.stream, sums).wait(ctx.stream);
}

void QkNormLayer::sum(const Context& ctx, const Heads& x, const Tensor& sums) const {
  for (const Side& side : sides(ctx.shape, x, sums)) qk_norm_sums(ctx.stream, side.sums, side.x);
  add_over_ranks(ctx, sums);
}

void QkNormLayer::normalise(const Context& ctx, const Tensor* weights, const Heads& x,
                            const Tensor& sums, const Heads& y) const {
  const std::array<Side, 2> to = sides(ctx.shape, y, sums);
  for (const Side& side : sides(ctx.shape, x, sums))
    qk_norm_forward(ctx.stream, to[side.at].x, side.x, weights[side.at], side.sums, side.width,
                    epsilon_, offset_);
}

void QkNormLayer::backward(const Context& ctx, const Tensor* weights, const Gradient* gradients,
                           const Heads& x, const Tensor& sums, const Heads& d) const {
  const ArenaScope scope(ctx.scratch);
  const Tensor dots = carve(ctx.scratch, ctx.shape);
  const std::array<Side, 2> gradient = sides(ctx.shape, d, dots);
  const std::array<Side, 2> of = sides(ctx.shape, x, sums);
  for (const Side& side : of)
    qk_norm_gradient_sums(ctx.stream, gradient[side.at].sums, gradient[side.at].x, side.x,
                          weights[side.at], offset_);
  add_over_ranks(ctx, dots);
  for (const Side& side : of) {
    const Side& dy = gradient[side.at];
    qk_norm_backward(ctx.stream, dy.x, gradients[side.at].data, dy.x, side.x, weights[side.at],
                     side.sums, dy.sums, side.width, epsilon_, offset_,
                     gradients[side.at].accumulate, ctx.scratch);
  }
}

}  // namespace triax
