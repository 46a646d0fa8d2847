// SPDX-License-Identifier: Apache-2.0
#include "src/state/offload/loaded_shard.hpp"

#include <utility>

namespace triax {

ShardBuffers::ShardBuffers(const std::vector<std::size_t>& bytes, const std::vector<int>& counts,
                           const MemorySource& source, WaitForDevice wait)
    : wait_(std::move(wait)), up_(source.space), down_(source.space) {
  for (std::size_t pool = 0; pool < counts.size(); ++pool)
    pools_.push_back({{"loaded parameters", bytes[pool], counts[pool], source},
                      std::vector<Event>(static_cast<std::size_t>(counts[pool]))});
}

// Copies still under way would otherwise write into memory that others use by then.
ShardBuffers::~ShardBuffers() {
  try {
    up_.synchronize();
    down_.synchronize();
  } catch (const Error&) {  // of the device; the run has already met it
  }
}

std::int64_t ShardBuffers::bytes() const {
  std::int64_t bytes = 0;
  for (const Pool& pool : pools_) bytes += pool.buffers.bytes();
  return bytes;
}

void LoadedShard::acquire() {
  slot_ = pool().buffers.acquire();
}

// Runs after the last user of the buffer, and after this shard's own copy down.
void LoadedShard::move_up(const Tensor& from) {
  const Stream& up = buffers_.up_;
  up.wait(left());
  up.wait(moved_);
  copy(up, tensor(), from);
  moved_.record(up);
}

void LoadedShard::move_down(const Stream& stream, const Tensor& to) {
  const Stream& down = buffers_.down_;
  buffers_.stepped_.record(stream);
  down.wait(buffers_.stepped_);
  copy(down, to, tensor());
  moved_.record(down);
}

Tensor LoadedShard::wait(const Stream& stream) const {
  stream.wait(moved_);
  return tensor();
}

void LoadedShard::give_up(const Stream& stream) {
  left().record(stream);
  pool().buffers.release(std::exchange(slot_, none));
}

}  // namespace triax
