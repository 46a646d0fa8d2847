// SPDX-License-Identifier: Apache-2.0
#include "src/model/context.hpp"

#include "kernels/random/random.hpp"

namespace triax {
namespace {

std::uint64_t bytes_of_rows(const BatchShape& shape, std::int64_t width) {
  return static_cast<std::uint64_t>(shape.rows * width) * size_of(shape.type);
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
