// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shards of parameters that are on a device for a while: their buffers, and copies through pinned
// memory on streams of their own.
#include <vector>

#include "src/comm/watchdog/device_wait.hpp"
#include "src/state/buffer_pool.hpp"

namespace triax {

/// State shared by all shards on the device.
class ShardBuffers {
 public:
  /// `bytes`, `counts`: size and number of the buffers of each pool. `wait`: how the host waits for
  /// a device.
  ShardBuffers(const std::vector<std::size_t>& bytes, const std::vector<int>& counts,
               const MemorySource& source, WaitForDevice wait);
  ~ShardBuffers();
  ShardBuffers(const ShardBuffers&) = delete;
  ShardBuffers& operator=(const ShardBuffers&) = delete;
  std::int64_t bytes() const;

 private:
  friend class LoadedShard;
  struct Pool {
    BufferPool buffers;
    std::vector<Event> left;  // by buffer: its last use has ended
  };
  std::vector<Pool> pools_;
  WaitForDevice wait_;
  Event stepped_;  // work before the latest copy down
  Stream up_, down_;
};

/// One shard. No call makes the host wait, except wait_moved().
class LoadedShard {
 public:
  /// A shard of `count` elements in a buffer of `pool`. `buffers` must outlive it.
  LoadedShard(ShardBuffers& buffers, int pool, DType type, std::int64_t count)
      : buffers_(buffers), pool_(static_cast<std::size_t>(pool)), type_(type), count_(count) {}

  /// Takes a buffer.
  void acquire();
  /// Copies to and from the device; `from` and `to` are in pinned memory. move_down() runs after
  /// the work issued to `stream` so far.
  void move_up(const Tensor& from);
  void move_down(const Stream& stream, const Tensor& to);
  /// The shard, for work issued to `stream` from here on.
  Tensor wait(const Stream& stream) const;
  /// Releases the buffer, after the work in `stream` or (second form) after the copy down.
  void give_up(const Stream& stream);
  void give_up() { give_up(buffers_.down_); }

  /// True if the last copy is complete, so that the host or a disk may use the other side's memory.
  bool has_moved() const { return moved_.done(); }
  void wait_moved() const { buffers_.wait_(moved_); }

 private:
  static constexpr int none = -1;
  ShardBuffers::Pool& pool() const { return buffers_.pools_[pool_]; }
  Event& left() const { return pool().left[static_cast<std::size_t>(slot_)]; }
  Tensor tensor() const { return pool().buffers.at(slot_, type_, {count_}); }

  ShardBuffers& buffers_;
  std::size_t pool_;
  DType type_;
  std::int64_t count_;
  int slot_ = none;
  Event moved_;  // the last copy, in either direction
};

}  // namespace triax
