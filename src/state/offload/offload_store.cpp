// SPDX-License-Identifier: Apache-2.0
#include "src/state/offload/offload_store.hpp"

#include <algorithm>

namespace triax {
namespace {

// Bytes of a buffer of each pool. A unit's ranges are stored one after another, each padded to
// pages.
std::vector<std::size_t> sizes_of_buffers(const std::vector<OffloadDataset>& datasets,
                                          const std::vector<OffloadUnit>& units,
                                          std::size_t pools) {
  std::vector<std::size_t> sizes(pools, 0);
  for (const OffloadUnit& unit : units) {
    std::int64_t bytes = 0;
    for (const OffloadUnit::Run& run : unit.runs)
      bytes += padded_bytes(datasets[run.dataset].dtype, run.count);
    auto& most = sizes[static_cast<std::size_t>(unit.pool)];
    most = std::max(most, static_cast<std::size_t>(bytes));
  }
  return sizes;
}

std::int64_t stored_bytes(const std::vector<OffloadDataset>& datasets) {
  std::int64_t bytes = 0;
  for (const OffloadDataset& dataset : datasets) bytes += padded_bytes(dataset);
  return bytes;
}

}  // namespace

OffloadBytes offload_bytes(const std::vector<OffloadDataset>& datasets,
                           const std::vector<OffloadUnit>& units, const std::vector<int>& buffers) {
  const std::vector<std::size_t> sizes = sizes_of_buffers(datasets, units, buffers.size());
  OffloadBytes bytes;
  for (std::size_t pool = 0; pool < buffers.size(); ++pool)
    bytes.buffers += BufferPool::bytes_of(sizes[pool], buffers[pool]);
  bytes.stored = stored_bytes(datasets);
  return bytes;
}

OffloadStore::OffloadStore(const OffloadLocation& location, std::vector<OffloadDataset> datasets,
                           std::vector<OffloadUnit> units, const std::vector<int>& buffers,
                           MemorySpace beside)
    : watch_(location.ranks.watch),
      datasets_(std::move(datasets)),
      units_(std::move(units)),
      states_(units_.size()) {
  make_pools(buffers, beside);
  agreed(location.ranks, [&] {
    if (datasets_.empty()) return;
    OffloadFile::Options options;
    options.blocks.block_bytes = location.block_bytes;
    options.blocks.queue_depth = location.queue_depth;
    for (const BufferPool& pool : pools_)
      if (pool.bytes() > 0) options.blocks.memory.push_back(pool.memory());
    file_ = std::make_unique<OffloadFile>(location.path, datasets_, options);
  });
}

void OffloadStore::make_pools(const std::vector<int>& buffers, MemorySpace beside) {
  for (std::size_t u = 0; u < units_.size(); ++u) {
    std::int64_t end = 0;
    for (const OffloadUnit::Run& run : units_[u].runs) {
      states_[u].offsets.push_back(end);
      end += padded_bytes(datasets_[run.dataset].dtype, run.count);
    }
    states_[u].requests.resize(units_[u].runs.size());
  }
  const std::vector<std::size_t> sizes = sizes_of_buffers(datasets_, units_, buffers.size());
  for (std::size_t pool = 0; pool < buffers.size(); ++pool)
    pools_.emplace_back("stored state", sizes[pool], buffers[pool], MemorySource::beside(beside));
}

Tensor OffloadStore::at(int unit, std::size_t run) const {
  const State& state = states_[static_cast<std::size_t>(unit)];
  check(state.slot != none, "stored state {} is not in memory", unit);
  const OffloadUnit::Run& is = unit_of(unit).runs[run];
  const Tensor buffer = pools_[static_cast<std::size_t>(unit_of(unit).pool)].at(state.slot);
  return {static_cast<std::byte*>(buffer.data()) + state.offsets[run],
          datasets_[is.dataset].dtype,
          {is.count}};
}

void OffloadStore::start_read(int unit) {
  State& state = of(unit);
  state.slot = pool_of(unit).acquire();
  for (std::size_t r = 0; r < state.requests.size(); ++r) {
    const OffloadUnit::Run& run = unit_of(unit).runs[r];
    state.requests[r] = file_->read(run.dataset, run.first, at(unit, r));
  }
}

bool OffloadStore::test_read(int unit) {
  const bool done =
      std::ranges::all_of(of(unit).requests, [](BlockRequest& request) { return request.test(); });
  if (done) wait_read(unit);
  return done;
}

void OffloadStore::start_write(int unit) {
  State& state = of(unit);
  for (std::size_t r = 0; r < state.requests.size(); ++r) {
    const OffloadUnit::Run& run = unit_of(unit).runs[r];
    state.requests[r] = file_->write(run.dataset, run.first, at(unit, r));
  }
}

// Noted as file work: other ranks wait meanwhile, and the disk may be slow.
void OffloadStore::wait(int unit) {
  const FileScope working(watch_);
  for (BlockRequest& request : of(unit).requests) request.wait();
}

void OffloadStore::wait_write(int unit) {
  wait(unit);
  release(unit);
}

void OffloadStore::release(int unit) {
  pool_of(unit).release(std::exchange(of(unit).slot, none));
}

void OffloadStore::open(int unit, Access access) {
  if (access != Access::replace) {
    start_read(unit);
    return wait_read(unit);
  }
  of(unit).slot = pool_of(unit).acquire();
  for (std::size_t r = 0; r < unit_of(unit).runs.size(); ++r) fill_zero(Stream(), at(unit, r));
}

void OffloadStore::close(int unit, Access access) {
  if (access == Access::read) return release(unit);
  start_write(unit);
  wait_write(unit);
}

// Cleanup after a failure: waits until nothing moves to or from the buffer. Errors here are
// ignored; the first one says most.
void OffloadStore::abandon(const Stream& stream, int unit) {
  for (BlockRequest& request : of(unit).requests) request = {};  // waits
  try {
    stream.synchronize();
  } catch (const Error&) {
  }
  if (of(unit).slot != none) release(unit);
}

OffloadBytes OffloadStore::bytes() const {
  OffloadBytes bytes;
  for (const BufferPool& pool : pools_) bytes.buffers += pool.bytes();
  bytes.stored = stored_bytes(datasets_);
  return bytes;
}

std::string OffloadStore::description() const {
  return file_ ? file_->description() : "nothing";
}

}  // namespace triax
