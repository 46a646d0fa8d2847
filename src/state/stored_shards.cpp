#include "src/state/stored_shards.hpp"

#include <algorithm>

#include "kernels/base/device.hpp"

namespace triax {
namespace {

// The shards on a disk: a dataset and a unit each, in the order of the blocks.
struct FileLayout {
  std::vector<OffloadDataset> datasets;
  std::vector<OffloadUnit> units;
};
FileLayout file_layout(const std::vector<ParameterBlock>& blocks, const WholeBuffers& whole,
                       DType type) {
  FileLayout file;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!blocks[b].stored || blocks[b].in_host) continue;
    const std::int64_t count = blocks[b].parameters.count();
    file.units.push_back({{{file.datasets.size(), 0, count}}, whole.pool[b]});
    file.datasets.push_back({fmt::format("/model/block {}", b), type, count});
  }
  return file;
}

// Bytes of a buffer of each of a device's pools.
std::vector<std::size_t> buffer_sizes(const std::vector<ParameterBlock>& blocks,
                                      const WholeBuffers& whole, DType type) {
  std::vector<std::size_t> sizes(whole.shards.size(), 0);
  for (std::size_t b = 0; b < blocks.size(); ++b)
    if (blocks[b].stored)
      sizes[static_cast<std::size_t>(whole.pool[b])] =
          static_cast<std::size_t>(blocks[b].parameters.count()) * size_of(type);
  return sizes;
}

std::int64_t hosted_bytes(const std::vector<ParameterBlock>& blocks, DType type) {
  std::int64_t elements = 0;
  for (const ParameterBlock& block : blocks)
    if (block.in_host) elements += block.parameters.count();
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
    : type_(options.type),
      device_(options.space == MemorySpace::device),
      wait_(std::move(wait)),
      states_(blocks.size()),
      hosted_(Buffer::beside(options.space,
                             static_cast<std::size_t>(hosted_bytes(blocks, options.type)))),
      up_(options.space),
      down_(options.space) {
  int unit = 0;
  std::int64_t begin = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!blocks[b].stored) continue;
    states_[b].count = blocks[b].parameters.count();
    states_[b].pool = whole.pool[b];
    states_[b].begin = begin;
    if (blocks[b].in_host)
      begin += states_[b].count;
    else
      states_[b].unit = unit++;
  }
  if (!options.place.path.empty()) {
    FileLayout file = file_layout(blocks, whole, type_);
    file_ = std::make_unique<OffloadStore>(options.place, std::move(file.datasets),
                                           std::move(file.units), whole.shards, options.space);
  }
  check(unit == 0 || file_, "no place for {} shards of parameters", unit);
  if (!device_) return;
  const std::vector<std::size_t> sizes = buffer_sizes(blocks, whole, type_);
  for (std::size_t pool = 0; pool < sizes.size(); ++pool) {
    const int count = whole.shards[pool];
    pools_.push_back({{"loaded parameters", sizes[pool], count, options.memory()},
                      std::vector<Event>(static_cast<std::size_t>(count))});
  }
}

// Copies that are still to come would find the memory of others.
StoredShards::~StoredShards() {
  try {
    up_.synchronize();
    down_.synchronize();
  } catch (const Error&) {  // of the device, which the run has met before
  }
}

Tensor StoredShards::in_memory(int block) const {
  const State& state = of(block);
  if (on_disk(block)) return file_->at(state.unit, 0);
  const auto elements = static_cast<std::int64_t>(hosted_.bytes() / size_of(type_));
  return hosted_.tensor(type_, {elements}).slice(0, state.begin, state.count);
}

Tensor StoredShards::on_host(int block) {
  wait_(of(block).moved);
  return in_memory(block);
}

Tensor StoredShards::opened(int block, Access access) {
  const Tensor shard = on_host(block);
  if (access == Access::replace) fill_zero(Stream(), shard);
  return shard;
}

Tensor StoredShards::on_device(const State& state) {
  return pool_of(state).buffers.at(state.slot, type_, {state.count});
}

void StoredShards::start_load(int block) {
  State& state = of(block);
  if (on_disk(block)) file_->start_read(state.unit);
  if (!device_) return;
  state.slot = pool_of(state).buffers.acquire();
  state.way = on_disk(block) ? Under::reading : Under::nothing;
  if (!on_disk(block)) move_up(block);
}

// Behind what used the buffer before, and behind the shard's own way down.
void StoredShards::move_up(int block) {
  State& state = of(block);
  if (on_disk(block)) file_->wait_read(state.unit);  // throws where the disk failed
  up_.wait(pool_of(state).left[static_cast<std::size_t>(state.slot)]);
  up_.wait(state.moved);
  copy(up_, on_device(state), in_memory(block));
  state.moved.record(up_);
  state.way = Under::nothing;
}

Tensor StoredShards::wait_load(const Stream& stream, int block) {
  State& state = of(block);
  if (!device_) {
    file_->wait_read(state.unit);
    return in_memory(block);
  }
  if (state.way == Under::reading) move_up(block);
  stream.wait(state.moved);
  return on_device(state);
}

// A buffer that the disk writes to next must have been read to the end.
void StoredShards::unload(const Stream& stream, int block) {
  State& state = of(block);
  if (on_disk(block)) {
    wait_(state.moved);
    file_->release(state.unit);
  }
  if (device_) give_up(state, stream);
}

void StoredShards::give_up(State& state, const Stream& last) {
  Pool& pool = pool_of(state);
  pool.left[static_cast<std::size_t>(state.slot)].record(last);
  pool.buffers.release(std::exchange(state.slot, none));
}

// Behind a step that was skipped, the bytes that are there already: whoever copies them meanwhile,
// for a checkpoint, has the same.
void StoredShards::start_save(const Stream& stream, int block, bool on_host) {
  State& state = of(block);
  if (on_host) wait_(state.moved);
  if (!device_ || on_host) return file_->start_write(state.unit);
  stepped_.record(stream);
  down_.wait(stepped_);
  copy(down_, in_memory(block), on_device(state));
  state.moved.record(down_);
  if (on_disk(block)) state.way = Under::leaving;
}

void StoredShards::wait_save(int block) {
  State& state = of(block);
  if (std::exchange(state.way, Under::nothing) == Under::leaving) {
    wait_(state.moved);
    file_->start_write(state.unit);
  }
  if (on_disk(block)) file_->wait_write(state.unit);
  if (device_) give_up(state, down_);
}

void StoredShards::progress() {
  for (int b = 0; b < std::ssize(states_); ++b) {
    State& state = of(b);
    if (state.way == Under::reading && file_->test_read(state.unit)) move_up(b);
    if (state.way != Under::leaving || !state.moved.done()) continue;
    file_->start_write(state.unit);
    state.way = Under::nothing;
  }
}

ShardBytes StoredShards::bytes() const {
  ShardBytes bytes;
  bytes.hosted = static_cast<std::int64_t>(hosted_.bytes());
  for (const Pool& pool : pools_) bytes.loaded += pool.buffers.bytes();
  if (!file_) return bytes;
  bytes.buffers = file_->bytes().buffers;
  bytes.stored = file_->bytes().stored;
  return bytes;
}

}  // namespace triax
