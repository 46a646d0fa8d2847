// SPDX-License-Identifier: Apache-2.0
#include "src/state/parameters/block_messages.hpp"

#include "src/state/block_matrices.hpp"

namespace triax {
namespace {

// Memory is that of the rank with the largest matrices, traffic that of this one.
void add_directions(BlockMessages& messages, const ParameterBlock& block, const DataShard& shard,
                    int tensor_size) {
  const auto bytes = [](std::int64_t elements) {
    return static_cast<std::uint64_t>(elements) * sizeof(float);
  };
  if (shard.zero_stage >= 1)
    messages.direction_gather = planned_all_gather(shard.size, bytes(block.elements));
  const std::vector<int> owners = matrix_owners(block, shard.size);
  for (std::size_t p = 0; p < owners.size(); ++p) {
    messages.direction_broadcast +=
        planned_broadcast(shard.size, bytes(block.params[p].range().count()));
    for (const BlockMatrix& matrix : matrices_of(block.params[p])) {
      Messages sum = planned_all_reduce(tensor_size, bytes(matrix.global.elements()));
      if (owners[p] != shard.rank) sum.all_reduce = {};
      messages.orthogonalize += sum;
    }
  }
}

}  // namespace

BlockMessages block_messages(const ParameterBlock& block, const StateOptions& options,
                             int tensor_size) {
  const auto bytes = [](std::int64_t elements, DType type) {
    return static_cast<std::uint64_t>(elements) * size_of(type);
  };
  constexpr int ends_of_the_pipeline = 2;
  BlockMessages messages;
  for (const PartialRange& partial : block.partial)
    messages.tensor_sum += planned_all_reduce(
        tensor_size / partial.parts,
        bytes(intersect(partial.range, block.gradients).count(), options.gradient_type));
  const DataShard& shard = options.shard;
  const std::uint64_t gradient = bytes(block.elements, options.gradient_type);
  messages.reduce = shard.zero_stage == 0 ? planned_all_reduce(shard.size, gradient)
                                          : planned_reduce_scatter(shard.size, gradient);
  messages.replica_sum =
      planned_all_reduce(shard.groups, bytes(block.own.count(), options.gradient_type));
  messages.tied_sum =
      planned_all_reduce(ends_of_the_pipeline, bytes(block.stepped.count(), options.gradient_type));
  for (int piece = 0; piece < gathers_of(block); ++piece)
    messages.gathers.push_back(planned_all_gather(
        shard.size, bytes(shard.size * gathered_run(block, piece).count(), options.type)));
  if (block.matrices) add_directions(messages, block, shard, tensor_size);
  return messages;
}

}  // namespace triax
