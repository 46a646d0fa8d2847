// SPDX-License-Identifier: Apache-2.0
#include "src/state/offload/stored_shards.hpp"

#include <utility>

#include "src/state/offload/shard_homes.hpp"

namespace triax {
namespace {

// The shards on a disk, one dataset and one unit each, in bucket order.
struct FileLayout {
  std::vector<OffloadDataset> datasets;
  std::vector<OffloadUnit> units;
};
FileLayout file_layout(const std::vector<ParameterBlock>& blocks, const WholeBuffers& whole,
                       DType type) {
  FileLayout file;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].home != ParameterHome::disk) continue;
    const std::int64_t count = blocks[b].parameters.count();
    file.units.push_back({{{file.datasets.size(), 0, count}}, whole.pool[b]});
    file.datasets.push_back({fmt::format("/model/block {}", b), type, count});
  }
  return file;
}

// Bytes of a buffer, for each of a device's pools.
std::vector<std::size_t> buffer_sizes(const std::vector<ParameterBlock>& blocks,
                                      const WholeBuffers& whole, DType type) {
  std::vector<std::size_t> sizes(whole.shards.size(), 0);
  for (std::size_t b = 0; b < blocks.size(); ++b)
    if (blocks[b].stored())
      sizes[static_cast<std::size_t>(whole.pool[b])] =
          static_cast<std::size_t>(blocks[b].parameters.count()) * size_of(type);
  return sizes;
}

std::int64_t hosted_bytes(const std::vector<ParameterBlock>& blocks, DType type) {
  std::int64_t elements = 0;
  for (const ParameterBlock& block : blocks)
    if (block.home == ParameterHome::host) elements += block.parameters.count();
  return elements * static_cast<std::int64_t>(size_of(type));
}

}  // namespace

ShardBytes shard_bytes(const std::vector<ParameterBlock>& blocks, const StateOptions& options,
                       const WholeBuffers& whole) {
  ShardBytes bytes;
  bytes.hosted = hosted_bytes(blocks, options.type);
  if (options.space == MemorySpace::device) {
    const std::vector<std::size_t> sizes = buffer_sizes(blocks, whole, options.type);
    for (std::size_t pool = 0; pool < sizes.size(); ++pool)
      bytes.loaded += BufferPool::bytes_of(sizes[pool], whole.shards[pool]);
  }
  const FileLayout file = file_layout(blocks, whole, options.type);
  const OffloadBytes offload = offload_bytes(file.datasets, file.units, whole.shards);
  bytes.buffers = offload.buffers;
  bytes.stored = offload.stored;
  return bytes;
}

StoredShards::StoredShards(const std::vector<ParameterBlock>& blocks, const StateOptions& options,
                           const WholeBuffers& whole, WaitForDevice wait)
    : hosted_(Buffer::beside(options.space,
                             static_cast<std::size_t>(hosted_bytes(blocks, options.type)))) {
  FileLayout file = file_layout(blocks, whole, options.type);
  check(file.units.empty() || !options.location.path.empty(),
        "no location for {} shards of parameters", file.units.size());
  if (!options.location.path.empty())
    file_ = std::make_unique<OffloadStore>(options.location, std::move(file.datasets),
                                           std::move(file.units), whole.shards, options.space);
  if (options.space == MemorySpace::device)
    buffers_ = std::make_unique<ShardBuffers>(buffer_sizes(blocks, whole, options.type),
                                              whole.shards, options.memory(), std::move(wait));
  Homes homes{options.type};
  for (std::size_t b = 0; b < blocks.size(); ++b)
    shards_.push_back(blocks[b].stored() ? make_shard(blocks[b], whole.pool[b], homes) : nullptr);
}

std::unique_ptr<StoredShard> StoredShards::make_shard(const ParameterBlock& block, int pool,
                                                      Homes& taken) {
  const std::int64_t count = block.parameters.count();
  if (!buffers_) return std::make_unique<ShardOnDisk>(*file_, taken.units++);
  LoadedShard loaded(*buffers_, pool, taken.type, count);
  if (block.home == ParameterHome::disk)
    return std::make_unique<ShardOnDiskOfDevice>(*file_, taken.units++, std::move(loaded));
  const std::int64_t begin = std::exchange(taken.hosted, taken.hosted + count);
  const auto all = static_cast<std::int64_t>(hosted_.bytes() / size_of(taken.type));
  return std::make_unique<ShardInHost>(hosted_.tensor(taken.type, {all}).slice(0, begin, count),
                                       std::move(loaded));
}

void StoredShards::progress() {
  for (const auto& shard : shards_)
    if (shard) shard->progress();
}

ShardBytes StoredShards::bytes() const {
  ShardBytes bytes;
  bytes.hosted = static_cast<std::int64_t>(hosted_.bytes());
  if (buffers_) bytes.loaded = buffers_->bytes();
  if (!file_) return bytes;
  bytes.buffers = file_->bytes().buffers;
  bytes.stored = file_->bytes().stored;
  return bytes;
}

}  // namespace triax
