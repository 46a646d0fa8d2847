#pragma once
// The shards of ZeRO 3's parameters that are beside the compute for a while only (ZeRO-Infinity,
// Rajbhandari et al. 2021): on a disk, or, of a device's run, in the host's memory. A device's come
// and go by streams of their own, through pinned memory.
#include <memory>
#include <utility>
#include <vector>

#include "src/comm/device_wait.hpp"
#include "src/state/state_options.hpp"

namespace triax {

/// What they take.
struct ShardBytes {
  std::int64_t loaded = 0;   // buffers on a device
  std::int64_t hosted = 0;   // of the host's memory, all the time
  std::int64_t buffers = 0;  // of memory, before a disk
  std::int64_t stored = 0;   // of the disk
  bool operator==(const ShardBytes&) const = default;
};
/// What StoredShards of these blocks will take.
ShardBytes shard_bytes(const std::vector<ParameterBlock>& blocks, const StateOptions& options,
                       const WholeBuffers& whole);

class StoredShards {
 public:
  /// `wait`: how the host waits for a device. Collective over options.place.ranks, where that has
  /// a path.
  StoredShards(const std::vector<ParameterBlock>& blocks, const StateOptions& options,
               const WholeBuffers& whole, WaitForDevice wait);
  ~StoredShards();
  StoredShards(const StoredShards&) = delete;
  StoredShards& operator=(const StoredShards&) = delete;

  // A shard is beside the compute from start_load, for `stream` after wait_load, to unload or
  // wait_save. Error where the disk fails.
  void start_load(int block);
  /// The shard: (elements), until it is given up.
  Tensor wait_load(const Stream& stream, int block);
  void unload(const Stream& stream, int block);
  /// `on_host`: it was stepped there, see on_host().
  void start_save(const Stream& stream, int block, bool on_host);
  void wait_save(int block);
  /// Lets what is under way between disk and device move on.
  void progress();

  /// The shard in the host's memory: always where it is kept there, else while it is loaded. The
  /// host may change it, and nothing reads it any more, until it is loaded again or saved.
  Tensor on_host(int block);

  /// Calls visit(shard) with it in the host's memory, between steps: zero before for
  /// Access::replace, and kept as it is after, but for Access::read.
  template <class Visit>
  void visit(const Stream& stream, int block, Access access, Visit&& visit) {
    if (on_disk(block))
      return file_->visit(stream, of(block).unit, access, [&] { visit(in_memory(block)); });
    visit(opened(block, access));
  }

  /// Null: none is on a disk.
  const OffloadStore* file() const { return file_.get(); }
  ShardBytes bytes() const;

 private:
  static constexpr int none = -1;
  enum class Under : std::uint8_t { nothing, reading, leaving };  // way, between disk and device
  struct State {
    std::int64_t count = 0;  // elements; 0: it is not stored
    int pool = 0;
    int unit = none;         // of the file, or
    std::int64_t begin = 0;  // where it is in the host's memory
    int slot = none;         // of the device's buffers
    Under way = Under::nothing;
    Event moved;  // between host and device, for the last time
  };
  struct Pool {
    BufferPool buffers;
    std::vector<Event> left;  // by buffer: nothing uses it any more
  };
  void make_file(const StateOptions& options, const WholeBuffers& whole);
  bool on_disk(int block) const { return of(block).unit != none; }
  State& of(int block) { return states_[static_cast<std::size_t>(block)]; }
  const State& of(int block) const { return states_[static_cast<std::size_t>(block)]; }
  Pool& pool_of(const State& state) { return pools_[static_cast<std::size_t>(state.pool)]; }
  Tensor in_memory(int block) const;
  Tensor opened(int block, Access access);
  Tensor on_device(const State& state);
  void move_up(int block);
  void give_up(State& state, const Stream& last);

  DType type_;
  bool device_;  // the compute is a device's
  WaitForDevice wait_;
  std::vector<State> states_;  // by block
  Buffer hosted_;
  std::unique_ptr<OffloadStore> file_;
  std::vector<Pool> pools_;  // of a device
  Event stepped_;            // the shard that was saved last
  Stream up_, down_;
};

}  // namespace triax
