// SPDX-License-Identifier: Apache-2.0
#pragma once
// ZeRO-3 parameter shards that are in compute memory only for a while (ZeRO-Infinity, Rajbhandari
// et al. 2021): otherwise on a disk or, in device runs, in host memory.
#include <memory>
#include <vector>

#include "src/state/offload/loaded_shard.hpp"
#include "src/state/offload/state_options.hpp"
#include "src/state/offload/stored_shard.hpp"

namespace triax {

/// Bytes the shards take.
struct ShardBytes {
  std::int64_t loaded = 0;   // device buffers
  std::int64_t hosted = 0;   // host memory, all the time
  std::int64_t buffers = 0;  // memory buffers of the disk
  std::int64_t stored = 0;   // disk space
  bool operator==(const ShardBytes&) const = default;
};
/// Bytes StoredShards of these buckets will take.
ShardBytes shard_bytes(const std::vector<ParameterBlock>& blocks, const StateOptions& options,
                       const WholeBuffers& whole);

/// Chooses the location of each shard once; users of a shard need not know it.
class StoredShards {
 public:
  /// Collective over options.location.ranks if options.location has a path. `wait`: how the host
  /// waits for a device.
  StoredShards(const std::vector<ParameterBlock>& blocks, const StateOptions& options,
               const WholeBuffers& whole, WaitForDevice wait);

  /// The shard of a bucket that is stored().
  StoredShard& of(int block) { return *shards_[static_cast<std::size_t>(block)]; }
  /// Makes progress on transfers between disk and device.
  void progress();

  /// Null if no shard is on a disk.
  const OffloadStore* file() const { return file_.get(); }
  ShardBytes bytes() const;

 private:
  /// Units and host elements assigned so far.
  struct Homes {
    DType type;
    int units = 0;            // units of the file
    std::int64_t hosted = 0;  // elements in host memory
  };
  std::unique_ptr<StoredShard> make_shard(const ParameterBlock& block, int pool, Homes& taken);

  Buffer hosted_;
  std::unique_ptr<OffloadStore> file_;
  // Declared after the memory on the other side of its copies, since its destructor waits for them.
  std::unique_ptr<ShardBuffers> buffers_;             // device runs only
  std::vector<std::unique_ptr<StoredShard>> shards_;  // by bucket; null: not stored
};

}  // namespace triax
