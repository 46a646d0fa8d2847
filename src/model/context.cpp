// SPDX-License-Identifier: Apache-2.0
#include "src/model/context.hpp"

#include "kernels/activation/elementwise.hpp"
#include "kernels/random/random.hpp"
#include "src/model/packed/packed_rows.hpp"

namespace triax {
namespace {

std::uint64_t bytes_of_rows(const BatchShape& shape, std::int64_t width) {
  return static_cast<std::uint64_t>(shape.rows * width) * size_of(shape.type);
}

// In place, in rank order whatever the size: MPI takes other orders for other sizes of more than
// two ranks, and a row's bits would depend on the number of rows.
void sum_in_rank_order(const Context& ctx, const Tensor& data) {
  const ArenaScope scope(ctx.scratch);
  const std::int64_t n = data.elements();
  const Tensor all = ctx.scratch.take("summands", data.dtype(), {ctx.shard.size, n});
  ctx.tensor.all_gather(ctx.stream, all, data).wait(ctx.stream);
  const Tensor sum = data.reshape({1, n});
  copy_rows(ctx.stream, sum, all.slice(0, 0, 1));
  for (int rank = 1; rank < ctx.shard.size; ++rank)
    residual_forward(ctx.stream, sum, sum, all.slice(0, rank, 1), Tensor{});
}

}  // namespace

BatchShape batch_shape(std::int64_t batch, std::int64_t sequence, const TensorShard& shard,
                       DType type, DType gradient_type, MemorySpace space) {
  const std::int64_t tokens = batch * sequence;
  const std::int64_t parts = shard.sequence_parallel ? shard.size : 1;
  const std::int64_t local = (tokens + parts - 1) / parts;
  return {
      batch, sequence,      local * parts, local, shard.sequence_parallel ? local * shard.rank : 0,
      type,  gradient_type, space};
}

std::uint64_t dropout_key(const Context& ctx, int layer, DropoutPlace place) {
  return mix_key(mix_key(ctx.dropout_key, static_cast<std::uint64_t>(layer)),
                 static_cast<std::uint64_t>(place));
}

ComingRows gather_rows(const Context& ctx, const Tensor& local, const Tensor& full) {
  if (!ctx.shard.sequence_parallel) return {local};
  return {full, ctx.tensor.all_gather(ctx.stream, full, local)};
}

ComingRows reduce_rows(const Context& ctx, const Tensor& partial, const Tensor& local) {
  if (ctx.shard.size > 2 && packed_rows(ctx) != nullptr) {
    sum_in_rank_order(ctx, partial);
    return {partial};
  }
  if (!ctx.shard.sequence_parallel) return {partial, ctx.tensor.all_reduce(ctx.stream, partial)};
  return {local, ctx.tensor.reduce_scatter(ctx.stream, local, partial)};
}

Messages gather_rows_messages(const TensorShard& shard, const BatchShape& shape,
                              std::int64_t width) {
  if (!shard.sequence_parallel) return {};
  return planned_all_gather(shard.size, bytes_of_rows(shape, width));
}

Messages reduce_rows_messages(const TensorShard& shard, const BatchShape& shape,
                              std::int64_t width) {
  const std::uint64_t bytes = bytes_of_rows(shape, width);
  return shard.sequence_parallel ? planned_reduce_scatter(shard.size, bytes)
                                 : planned_all_reduce(shard.size, bytes);
}

}  // namespace triax
