#include "src/state/offload_store.hpp"

#include <algorithm>

namespace triax {

OffloadStore::OffloadStore(const OffloadPlace& place, std::vector<OffloadDataset> datasets,
                           std::vector<OffloadUnit> units, const std::vector<int>& buffers)
    : datasets_(std::move(datasets)), units_(std::move(units)), states_(units_.size()) {
  make_pools(buffers);
  agreed(place.comm, [&] {
    if (datasets_.empty()) return;
    OffloadFile::Options options;
    options.blocks.block_bytes = place.block_bytes;
    options.blocks.queue_depth = place.queue_depth;
    for (const BufferPool& pool : pools_)
      if (pool.bytes() > 0) options.blocks.memory.push_back(pool.memory());
    file_ = std::make_unique<OffloadFile>(place.path, datasets_, options);
  });
}

// Runs lie in a buffer one behind the other, each at a page.
void OffloadStore::make_pools(const std::vector<int>& buffers) {
  std::vector<std::int64_t> bytes(buffers.size(), 0);  // of a buffer, by pool
  for (std::size_t u = 0; u < units_.size(); ++u) {
    std::int64_t end = 0;
    for (const OffloadUnit::Run& run : units_[u].runs) {
      const DType type = datasets_[run.dataset].dtype;
      states_[u].offsets.push_back(end);
      end += padded_elements(type, run.count) * static_cast<std::int64_t>(size_of(type));
    }
    states_[u].requests.resize(units_[u].runs.size());
    auto& most = bytes[static_cast<std::size_t>(units_[u].pool)];
    most = std::max(most, end);
  }
  for (std::size_t pool = 0; pool < buffers.size(); ++pool)
    pools_.emplace_back("stored state", static_cast<std::size_t>(bytes[pool]), buffers[pool]);
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

void OffloadStore::start_write(int unit) {
  State& state = of(unit);
  for (std::size_t r = 0; r < state.requests.size(); ++r) {
    const OffloadUnit::Run& run = unit_of(unit).runs[r];
    state.requests[r] = file_->write(run.dataset, run.first, at(unit, r));
  }
}

void OffloadStore::wait(int unit) {
  for (BlockRequest& request : of(unit).requests) request.wait();
}

void OffloadStore::wait_write(int unit) {
  wait(unit);
  release(unit);
}

void OffloadStore::release(int unit) {
  pool_of(unit).release(std::exchange(of(unit).slot, none));
}

void OffloadStore::open(const Stream& stream, int unit, Access access) {
  if (access != Access::replace) {
    start_read(unit);
    return wait_read(unit);
  }
  of(unit).slot = pool_of(unit).acquire();
  for (std::size_t r = 0; r < unit_of(unit).runs.size(); ++r) fill_zero(stream, at(unit, r));
}

void OffloadStore::close(int unit, Access access) {
  if (access == Access::read) return release(unit);
  start_write(unit);
  wait_write(unit);
}

std::int64_t OffloadStore::buffer_bytes() const {
  std::int64_t bytes = 0;
  for (const BufferPool& pool : pools_) bytes += pool.bytes();
  return bytes;
}

std::string OffloadStore::description() const {
  return file_ ? file_->description() : "nothing";
}

}  // namespace triax
