#pragma once
// Shards of parameters on a device for a while: their buffers, and the copies that come and go by
// streams of their own, through pinned memory.
#include <vector>

#include "src/comm/watchdog/device_wait.hpp"
#include "src/state/buffer_pool.hpp"

namespace triax {

/// What all shards that are loaded share.
class ShardBuffers {
 public:
  /// `bytes` and `counts`: of the buffers of each pool; `wait`: how the host waits for a device.
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
    std::vector<Event> left;  // by buffer: nothing uses it any more
  };
  std::vector<Pool> pools_;
  WaitForDevice wait_;
  Event stepped_;  // the shard that went down last
  Stream up_, down_;
};

/// One of them. Nothing here makes the host wait, but wait_moved.
class LoadedShard {
 public:
  /// A shard of `count` elements in buffers of `pool`; `buffers` outlive it.
  LoadedShard(ShardBuffers& buffers, int pool, DType type, std::int64_t count)
      : buffers_(buffers), pool_(static_cast<std::size_t>(pool)), type_(type), count_(count) {}

  /// Takes a buffer.
  void acquire();
  /// `from` and `to` are in pinned memory. What `stream` did before is done first.
  void move_up(const Tensor& from);
  void move_down(const Stream& stream, const Tensor& to);
  /// The shard, for what `stream` does from here on.
  Tensor wait(const Stream& stream) const;
  /// Gives the buffer up: behind what `stream` does with it, or behind its way down.
  void give_up(const Stream& stream);
  void give_up() { give_up(buffers_.down_); }

  /// The last copy is complete, so that the host or a disk may have the memory on the other side.
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
  Event moved_;  // up or down, for the last time
};

}  // namespace triax
