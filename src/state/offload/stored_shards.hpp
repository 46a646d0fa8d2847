#pragma once
// The shards of ZeRO-3's parameters that are beside the compute for a while only (ZeRO-Infinity,
// Rajbhandari et al. 2021): on a disk, or, of a device's run, in the host's memory.
#include <memory>
#include <vector>

#include "src/state/offload/loaded_shard.hpp"
#include "src/state/offload/state_options.hpp"
#include "src/state/offload/stored_shard.hpp"

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

/// Each shard's home is chosen here, once; whoever uses it need not know.
class StoredShards {
 public:
  /// `wait`: how the host waits for a device. Collective over options.place.ranks, where that has
  /// a path.
  StoredShards(const std::vector<ParameterBlock>& blocks, const StateOptions& options,
               const WholeBuffers& whole, WaitForDevice wait);

  /// Of a block that is stored.
  StoredShard& of(int block) { return *shards_[static_cast<std::size_t>(block)]; }
  /// Lets what is under way between disk and device move on.
  void progress();

  /// Null: none is on a disk.
  const OffloadStore* file() const { return file_.get(); }
  ShardBytes bytes() const;

 private:
  /// How far the homes are taken.
  struct Homes {
    DType type;
    int units = 0;            // of the file
    std::int64_t hosted = 0;  // elements in the host's memory
  };
  std::unique_ptr<StoredShard> make_shard(const ParameterBlock& block, int pool, Homes& taken);

  Buffer hosted_;
  std::unique_ptr<OffloadStore> file_;
  // After the memory on the other side of the copies, whose end it waits for.
  std::unique_ptr<ShardBuffers> buffers_;             // of a device's run
  std::vector<std::unique_ptr<StoredShard>> shards_;  // by block; null: it is not stored
};

}  // namespace triax
