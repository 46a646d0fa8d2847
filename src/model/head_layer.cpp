// SPDX-License-Identifier: Apache-2.0
#include "src/model/head_layer.hpp"

#include <algorithm>

#include "kernels/activation/elementwise.hpp"
#include "kernels/loss/soft_cap.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/matmul/row_matmul.hpp"
#include "kernels/optimizer/grad_norm.hpp"
#include "src/model/families/families.hpp"
#include "src/model/packed/packed_rows.hpp"

namespace triax {

struct HeadLayer::Scratch {
  Tensor normed;     // (local_rows, E)
  Tensor h;          // (rows, E)
  Tensor logits;     // (chunk, V_local)
  Tensor stats;      // (tensor size, chunk, 3)
  Tensor loss;       // (chunk); (rows) of pairs
  Tensor lse;        // likewise
  Tensor factors;    // (rows), of pairs only
  Tensor log_probs;  // (B), of pairs only
  Scratch(Arena& arena, const BatchShape& shape, const TensorShard& shard, std::int64_t width,
          std::int64_t chunk, std::int64_t vocabulary) {
    normed = arena.take("normed input", shape.type, {shape.local_rows, width});
    h = shard.sequence_parallel ? arena.take("gathered input", shape.type, {shape.rows, width})
                                : normed;
    logits = arena.take("logits", shape.type, {chunk, vocabulary});
    stats = arena.take("softmax statistics", DType::f32, {shard.size, chunk, 3});
    const std::int64_t kept = shape.pairs ? shape.rows : chunk;
    loss = arena.take("loss", DType::f32, {kept});
    lse = arena.take("lse", DType::f32, {kept});
    if (!shape.pairs) return;
    factors = arena.take("factors of rows", DType::f32, {kept});
    log_probs = arena.take("log-probabilities", DType::f64, {shape.batch});
  }
};

namespace {
std::vector<ParameterSpec> head_params(const ModelConfig& model, const TensorShard& shard,
                                       const NormLayer& norm) {
  const ModelNames& names = family_of(model).block.outside;
  std::vector<ParameterSpec> params = norm.params();
  params.push_back(vocabulary_parameter("head.weight",
                                        model.tied_embeddings ? names.token_embedding : names.head,
                                        model, shard, model.tied_embeddings));
  params.back().read_in_backward = false;  // the forward pass has made its gradients
  params.back().written_in_forward = true;
  mark_trained(params, model);
  return params;
}
}  // namespace

HeadLayer::HeadLayer(const ModelConfig& model, const TensorShard& shard)
    : width_(model.hidden),
      soft_cap_(model.logit_soft_cap),
      scale_(1.0F / model.logit_divisor),
      shard_(shard),
      vocabulary_(vocabulary_shard(model.vocabulary, shard)),
      norm_(model, family_of(model).block.outside.final_norm, shard),
      params_(head_params(model, shard, norm_)) {}

// Rows whose logits are in memory at once: enough for an efficient GEMM, few enough to stay small.
// Each chunk reads, adds to and rounds the whole weight gradient. On a GPU, which has memory to
// spare, chunks are larger and whole tiles. A 16-bit gradient limits the number of chunks: a bf16
// sum stops growing at 512 times its addend.
std::int64_t HeadLayer::chunk_rows(const BatchShape& shape) const {
  constexpr std::int64_t most_chunks = 32;
  const auto divided = [](std::int64_t rows, std::int64_t by) { return (rows + by - 1) / by; };
  const bool device = shape.space == MemorySpace::device;
  const std::int64_t logit_bytes = std::int64_t{device ? 1024 : 64} << 20;
  const std::int64_t least = device ? 128 : 64;
  const std::int64_t fit =
      logit_bytes / (vocabulary_.rows * static_cast<std::int64_t>(size_of(shape.type)));
  const std::int64_t any = divided(shape.rows, std::max(fit, least));
  const bool rounded = size_of(shape.gradient_type) < sizeof(float);
  const std::int64_t chunks = rounded ? std::min(any, most_chunks) : any;
  const std::int64_t equal = divided(shape.rows, chunks);
  return device && chunks > 1 ? std::min(divided(equal, least) * least, shape.rows) : equal;
}

std::size_t HeadLayer::frame_bytes(const BatchShape& shape) const {
  return measure([&](Arena& arena) {
    arena.take("head gradient", shape.type, {shape.rows, width_});
  });
}

std::size_t HeadLayer::scratch_bytes(const BatchShape& shape) const {
  const std::size_t forward = measure([&](Arena& arena) {
    Scratch(arena, shape, shard_, width_, chunk_rows(shape), vocabulary_.rows);
  });
  const std::size_t backward = measure([&](Arena& arena) {
    arena.take("summed gradient", shape.type, {shape.local_rows, width_});
  });
  return std::max(forward, backward + norm_.scratch_bytes(shape.local_rows, shape.space));
}

// Gathers rows, reduces their gradient, and gathers the softmax statistics of each chunk.
LayerMessages HeadLayer::messages(const BatchShape& shape) const {
  LayerMessages messages{gather_rows_messages(shard_, shape, width_),
                         reduce_rows_messages(shard_, shape, width_)};
  const std::int64_t chunk = chunk_rows(shape);
  for (std::int64_t begin = 0; begin < shape.rows; begin += chunk) {
    const std::int64_t statistics = shard_.size * std::min(chunk, shape.rows - begin) * 3;
    messages.forward +=
        planned_all_gather(shard_.size, static_cast<std::uint64_t>(statistics) * sizeof(float));
  }
  return messages;
}

void HeadLayer::forward(const Context& ctx, const LayerParameters& params, const Tensor& x,
                        const Tensor&, const Tensor& frame) const {
  const ArenaScope scope(ctx.scratch);
  const Scratch scratch(ctx.scratch, ctx.shape, shard_, width_, chunk_rows(ctx.shape),
                        vocabulary_.rows);
  norm_.forward(ctx, params.weights.data(), x, scratch.normed);
  if (scale_ != 1.0F) scale(ctx.stream, scratch.normed, scratch.normed, scale_);
  const Tensor h = gather_rows(ctx, scratch.normed, scratch.h).wait(ctx);
  const Tensor dh(frame.data(), ctx.shape.type, {ctx.shape.rows, width_}, frame.space());
  ctx.pairs != nullptr ? classify_pairs(ctx, params, h, dh, scratch)
                       : classify(ctx, params, h, dh, scratch);
}

void HeadLayer::classify(const Context& ctx, const LayerParameters& params, const Tensor& h,
                         const Tensor& dh, const Scratch& scratch) const {
  const Tensor& weight = params.weights.back();
  const std::int64_t chunk = scratch.logits.size(0);
  for (std::int64_t begin = 0; begin < ctx.shape.rows; begin += chunk) {
    const std::int64_t n = std::min(chunk, ctx.shape.rows - begin);
    const Tensor rows = h.slice(0, begin, n);
    const Tensor labels = ctx.labels.slice(0, begin, n);
    const Tensor logits = scratch.logits.slice(0, 0, n);
    const Tensor loss = scratch.loss.slice(0, 0, n);
    matmul(ctx.stream, logits, rows, weight.transposed());
    if (ctx.training && shard_.size == 1)  // the fused loss passes over the rows once less
      cross_entropy(ctx.stream, loss, logits, labels, vocabulary_.columns, ctx.loss_scale,
                    logit_options(ctx));
    else
      loss_of_shards(ctx, loss, scratch.lse.slice(0, 0, n), logits, labels, scratch);
    add_sum(ctx.stream, ctx.loss_sum, loss);
    if (!ctx.training) continue;
    if (shard_.size > 1)
      cross_entropy_backward(ctx.stream, logits, scratch.lse.slice(0, 0, n), labels,
                             vocabulary_.first, vocabulary_.columns, ctx.loss_scale,
                             logit_options(ctx));
    use_gradient(params, ctx, rows, logits, dh.slice(0, begin, n), begin == 0);
  }
}

// Gradients of the projection and of its rows, from that of their logits. `first`: chunk of rows.
void HeadLayer::use_gradient(const LayerParameters& params, const Context& ctx, const Tensor& rows,
                             const Tensor& logits, const Tensor& dh, bool first) const {
  const Gradient& projection = params.gradients.back();
  if (!projection.data.empty())
    matmul(ctx.stream, projection.data, logits.transposed(), rows,
           {.accumulate = projection.accumulate || !first});
  matmul(ctx.stream, dh, logits, params.weights.back());
}

void HeadLayer::classify_pairs(const Context& ctx, const LayerParameters& params, const Tensor& h,
                               const Tensor& dh, const Scratch& scratch) const {
  const Tensor& weight = params.weights.back();
  const std::int64_t all = ctx.shape.rows, chunk = scratch.logits.size(0);
  const auto each_chunk = [&](const auto& use) {
    for (std::int64_t begin = 0; begin < all; begin += chunk)
      use(begin, std::min(chunk, all - begin));
  };
  const auto logits_of = [&](std::int64_t begin, std::int64_t n) {
    const Tensor logits = scratch.logits.slice(0, 0, n);
    matmul(ctx.stream, logits, h.slice(0, begin, n), weight.transposed());
    return logits;
  };
  each_chunk([&](std::int64_t begin, std::int64_t n) {
    loss_of_shards(ctx, scratch.loss.slice(0, begin, n), scratch.lse.slice(0, begin, n),
                   logits_of(begin, n), ctx.labels.slice(0, begin, n), scratch);
  });
  compare_pairs(ctx, scratch);
  if (!ctx.training) return;
  each_chunk([&](std::int64_t begin, std::int64_t n) {
    const Tensor logits = chunk < all ? logits_of(begin, n) : scratch.logits;
    scaled_cross_entropy_backward(ctx.stream, logits, scratch.lse.slice(0, begin, n),
                                  ctx.labels.slice(0, begin, n), vocabulary_.first,
                                  vocabulary_.columns, ctx.loss_scale, logit_options(ctx),
                                  scratch.factors.slice(0, begin, n));
    use_gradient(params, ctx, h.slice(0, begin, n), logits, dh.slice(0, begin, n), begin == 0);
  });
}

// Loss of pairs and factors of rows, from the cross-entropy of all rows.
void HeadLayer::compare_pairs(const Context& ctx, const Scratch& scratch) const {
  const PairBatch& pairs = *ctx.pairs;
  pair_loss(
      ctx.stream, {scratch.loss, ctx.labels, pairs.reference, ctx.shape.sequence}, pairs.options,
      {ctx.training ? scratch.factors : Tensor{},
       pairs.log_probs.empty() ? scratch.log_probs : pairs.log_probs, pairs.sums, ctx.loss_sum});
}

// Loss of rows whose logits are sharded over the tensor ranks, and their log-sum-exp.
void HeadLayer::loss_of_shards(const Context& ctx, const Tensor& loss, const Tensor& lse,
                               const Tensor& logits, const Tensor& labels,
                               const Scratch& scratch) const {
  const std::int64_t n = labels.elements();
  const Tensor stats =
      scratch.stats.flat().slice(0, 0, shard_.size * n * 3).reshape({shard_.size, n, 3});
  const Tensor own = stats.slice(0, shard_.rank, 1).reshape({n, 3});
  cross_entropy_stats(ctx.stream, own, logits, labels, vocabulary_.first, vocabulary_.columns,
                      logit_options(ctx));
  ctx.tensor.all_gather(ctx.stream, stats, own).wait(ctx.stream);
  cross_entropy_loss(ctx.stream, loss, lse, stats, labels, logit_options(ctx));
}

void HeadLayer::backward(const Context& ctx, const LayerParameters& params, const Tensor& x,
                         const Tensor&, const Tensor& dx, const Tensor& frame) const {
  const ArenaScope scope(ctx.scratch);
  const Tensor local =
      shard_.sequence_parallel
          ? ctx.scratch.take("summed gradient", ctx.shape.type, {ctx.shape.local_rows, width_})
          : Tensor{};
  const Tensor partial(frame.data(), ctx.shape.type, {ctx.shape.rows, width_}, frame.space());
  const Tensor dh = reduce_rows(ctx, partial, local).wait(ctx);
  if (scale_ != 1.0F) scale(ctx.stream, dh, dh, scale_);
  norm_.backward(ctx, params.weights.data(), params.gradients.data(), x, dh, Tensor{}, dx);
}

// `out` of n rows: the logits of as many rows of x from `row` on.
void HeadLayer::logits(const Context& ctx, const LayerParameters& params, const Tensor& x,
                       std::int64_t row, const Tensor& out) const {
  const ArenaScope scope(ctx.scratch);
  const Tensor logits = out.rank() == 1 ? out.reshape({1, out.size(0)}) : out;
  const std::int64_t rows = logits.size(0);
  const Tensor h = ctx.scratch.take("normed input", ctx.shape.type, {rows, width_});
  norm_.forward(ctx, params.weights.data(), x.slice(0, row, rows), h);
  if (scale_ != 1.0F) scale(ctx.stream, h, h, scale_);
  const Tensor weight = params.weights.back().slice(0, 0, vocabulary_.columns).transposed();
  if (packed_rows(ctx) != nullptr)
    row_matmul(ctx.stream, logits, h, weight);
  else
    matmul(ctx.stream, logits, h, weight);
  if (soft_cap_ > 0.0F) soft_cap(ctx.stream, logits, soft_cap_);
}

}  // namespace triax
