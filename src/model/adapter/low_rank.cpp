// SPDX-License-Identifier: Apache-2.0
#include "src/model/adapter/low_rank.hpp"

#include <cmath>
#include <string_view>
#include <utility>

#include "kernels/activation/elementwise.hpp"
#include "kernels/matmul/row_matmul.hpp"
#include "kernels/random/dropout.hpp"
#include "kernels/random/random.hpp"
#include "src/model/layer.hpp"
#include "src/model/packed/packed_rows.hpp"

namespace triax {
namespace {

// Initial values as in PEFT: A is uniform within 1/sqrt(inputs), B zero. LoraStart::gaussian: A is
// normal of deviation 1/r. LoraStart::random: B is uniform within 1/sqrt(r).
struct Start {
  Initial of_a, of_b;
  float a, b;
};

Start start_of(LoraStart start, std::int64_t inputs, std::int64_t rank) {
  const auto bound = [](std::int64_t n) {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(n)));
  };
  switch (start) {
    case LoraStart::gaussian:
      return {Initial::normal, Initial::zero, 1.0F / static_cast<float>(rank), 0.0F};
    case LoraStart::random:
      return {Initial::uniform, Initial::uniform, bound(inputs), bound(rank)};
    case LoraStart::usual:
      break;
  }
  return {Initial::uniform, Initial::zero, bound(inputs), 0.0F};
}

ParameterSpec sharded(std::string label, const Shape& shape, Initial initial, float deviation) {
  ParameterSpec spec{std::move(label), shape, {}, initial, deviation, false};
  spec.adapter = true;
  spec.of_base = false;
  return spec;
}

ParameterSpec whole(const std::string& label, const std::string& name, const Shape& shape,
                    const TensorShard& shard, Initial initial, float deviation) {
  ParameterSpec spec = replicated_parameter(label, name, shape, shard, /*partial_gradient=*/true,
                                            initial, deviation);
  spec.adapter = true;
  spec.of_base = false;
  return spec;
}

}  // namespace

std::string module_of(const std::string& weight) {
  constexpr std::string_view end = ".weight";
  check(weight.ends_with(end), "{} is no weight", weight);
  return weight.substr(0, weight.size() - end.size());
}

LowRank::LowRank(const LoraConfig& lora, std::string module)
    : module_(std::move(module)),
      rank_(lora.modules.at(module_).rank),
      scale_(static_cast<float>(lora.modules.at(module_).scale)),
      dropout_(lora.dropout) {}

LowRank LowRank::column(const LoraConfig& lora, const std::string& label, std::int64_t inputs,
                        const std::vector<LinearPart>& parts, std::int64_t at,
                        const TensorShard& shard) {
  LowRank made(lora, module_of(parts.front().weight));
  made.at_ = at;
  made.inputs_ = made.width_ = inputs;
  const std::int64_t r = made.rank_;
  const Start start = start_of(lora.start, inputs, r);
  std::int64_t room = 0;
  ParameterSpec b = sharded(label + ".lora_B.weight", {}, start.of_b, start.b);
  ParameterSpec magnitude = sharded(label + lora_magnitude_suffix, {}, Initial::row_norm, 0.0F);
  for (const LinearPart& part : parts) {
    const std::int64_t begin = part.offset + part.begin;
    b.pieces.push_back({made.module_ + lora_b_suffix,
                        {part.features, r},
                        {begin, 0},
                        {part.count, r},
                        {made.outputs_, 0},
                        part.copies,
                        part.owner,
                        part.copies > 1});
    magnitude.pieces.push_back({made.module_ + lora_magnitude_suffix,
                                {part.features},
                                {begin},
                                {part.count},
                                {made.outputs_},
                                part.copies,
                                part.owner,
                                part.copies > 1});
    made.outputs_ += part.count;
    room += part.room();
  }
  b.shape = {made.outputs_, r};
  b.most = room * r;
  made.params_ = {whole(label + ".lora_A.weight", made.module_ + lora_a_suffix, {r, inputs}, shard,
                        start.of_a, start.a),
                  std::move(b)};
  magnitude.shape = {made.outputs_};
  magnitude.most = room;
  if (lora.dora) made.params_.push_back(std::move(magnitude));
  return made;
}

LowRank LowRank::row(const LoraConfig& lora, const std::string& label, const LinearPart& part,
                     std::int64_t outputs, const TensorShard& shard) {
  LowRank made(lora, module_of(part.weight));
  made.outputs_ = outputs;
  made.inputs_ = part.count;
  made.first_input_ = part.offset + part.begin;
  made.width_ = part.features;
  const std::int64_t r = made.rank_;
  const Start start = start_of(lora.start, part.features, r);
  ParameterSpec a = sharded(label + ".lora_A.weight", {r, part.count}, start.of_a, start.a);
  a.pieces.push_back({made.module_ + lora_a_suffix,
                      {r, part.features},
                      {0, made.first_input_},
                      {r, part.count},
                      {0, 0},
                      1,
                      true,
                      false});
  a.most = r * part.room();
  made.params_ = {std::move(a), whole(label + ".lora_B.weight", made.module_ + lora_b_suffix,
                                      {outputs, r}, shard, start.of_b, start.b)};
  if (lora.dora)
    made.params_.push_back(whole(label + lora_magnitude_suffix,
                                 made.module_ + lora_magnitude_suffix, {outputs}, shard,
                                 Initial::row_norm, 0.0F));
  return made;
}

std::size_t LowRank::scratch_bytes(const BatchShape& shape) const {
  return measure([&](Arena& arena) {
    arena.take("adapter", shape.type, {shape.rows, rank_});
    if (dropout_ > 0.0F) arena.take("adapter dropout", shape.type, {shape.rows, inputs_});
    if (packed_context(shape) > 0) arena.take("adapter output", shape.type, {shape.rows, outputs_});
  });
}

Tensor LowRank::narrow(const Context& ctx) const {
  return ctx.scratch.take("adapter", ctx.shape.type, {ctx.shape.rows, rank_});
}

Tensor LowRank::added(const Context& ctx) const {
  return ctx.scratch.take("adapter output", ctx.shape.type, {ctx.shape.rows, outputs_});
}

// A mask numbers the elements of (tokens, global inputs), so a row of some inputs is one range.
void LowRank::drop(const Context& ctx, const Tensor& y, const Tensor& x) const {
  const Dropout mask{dropout_, mix_key(ctx.dropout_key, module_)};
  const std::int64_t first = ctx.first_sample * ctx.shape.sequence * width_ + first_input_;
  if (inputs_ == width_) return dropout(ctx.stream, y, x, mask, first);
  for (std::int64_t row = 0; row < x.size(0); ++row)
    dropout(ctx.stream, y.slice(0, row, 1), x.slice(0, row, 1), mask, first + row * width_);
}

Tensor LowRank::dropped(const Context& ctx, const Tensor& x) const {
  if (!drops(ctx)) return x;
  const Tensor y = ctx.scratch.take("adapter dropout", ctx.shape.type, {ctx.shape.rows, inputs_});
  drop(ctx, y, x);
  return y;
}

// Each row has the same bits in whatever company it is computed.
void LowRank::forward_rows(const Context& ctx, const Tensor* weights, const Tensor& x,
                           const Tensor& y) const {
  const Tensor u = narrow(ctx), sum = added(ctx);
  row_matmul(ctx.stream, u, x, weights[0].transposed());
  scale(ctx.stream, u, u, scale_);
  row_matmul(ctx.stream, sum, u, weights[1].transposed());
  const Tensor own = own_outputs(y);
  residual_forward(ctx.stream, own, own, sum, {});
}

void LowRank::forward(const Context& ctx, const Tensor* weights, const Tensor& x,
                      const Tensor& y) const {
  const ArenaScope scope(ctx.scratch);
  if (packed_rows(ctx) != nullptr) return forward_rows(ctx, weights, x, y);
  const Tensor u = narrow(ctx);
  matmul(ctx.stream, u, dropped(ctx, x), weights[0].transposed());
  scale(ctx.stream, u, u, scale_);
  matmul(ctx.stream, own_outputs(y), u, weights[1].transposed(), {.accumulate = true});
}

void LowRank::backward_input(const Context& ctx, const Tensor* weights, const Tensor& dy,
                             const Tensor& dx) const {
  const ArenaScope scope(ctx.scratch);
  const Tensor v = narrow(ctx);
  matmul(ctx.stream, v, own_outputs(dy), weights[1]);
  scale(ctx.stream, v, v, scale_);
  if (!drops(ctx)) return matmul(ctx.stream, dx, v, weights[0], {.accumulate = true});
  const Tensor masked =
      ctx.scratch.take("adapter dropout", ctx.shape.type, {ctx.shape.rows, inputs_});
  matmul(ctx.stream, masked, v, weights[0]);
  drop(ctx, masked, masked);
  accumulate(ctx.stream, dx, masked);
}

void LowRank::backward_weight(const Context& ctx, const Tensor* weights, const Gradient* gradients,
                              const Tensor& x, const Tensor& dy) const {
  const Gradient &of_a = gradients[0], &of_b = gradients[1];
  if (of_a.data.empty() && of_b.data.empty()) return;
  const ArenaScope scope(ctx.scratch);
  const Tensor narrow_rows = narrow(ctx);
  const Tensor in = dropped(ctx, x);
  const Tensor out = own_outputs(dy);
  if (!of_b.data.empty()) {
    matmul(ctx.stream, narrow_rows, in, weights[0].transposed());
    scale(ctx.stream, narrow_rows, narrow_rows, scale_);
    matmul(ctx.stream, of_b.data, out.transposed(), narrow_rows, {.accumulate = of_b.accumulate});
  }
  if (of_a.data.empty()) return;
  matmul(ctx.stream, narrow_rows, out, weights[1]);
  scale(ctx.stream, narrow_rows, narrow_rows, scale_);
  matmul(ctx.stream, of_a.data, narrow_rows.transposed(), in, {.accumulate = of_a.accumulate});
}

}  // namespace triax
