// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rounds in which all ranks read checksum chunks of a checkpoint and pass them on. Internal to io/.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/load/checkpoint_block_reader.hpp"
#include "io/checkpoint/load/checkpoint_blocks.hpp"
#include "io/checkpoint/load/load_round.hpp"
#include "io/checkpoint/load/loader_options.hpp"
#include "io/checkpoint/load/node_memory.hpp"

namespace triax {

/// Implements CheckpointLoader on whole chunks, by their numbers in CheckpointBlocks.
class CheckpointRounds {
 public:
  /// Collective. `file` outlives the object.
  CheckpointRounds(const CheckpointReader& file, const Ranks& ranks, const LoaderOptions& options);
  const CheckpointBlocks& blocks() const { return blocks_; }
  /// Declares that this rank will need the chunk. Before the first data_of().
  void want(std::int64_t block);
  /// Data of a chunk, which must be the one of the last call or the next one wanted. Valid until
  /// another chunk is requested. Ranks wait for each other here.
  const std::byte* data_of(std::int64_t block);
  /// Collective. Each rank calls it after it has used all wanted chunks.
  void finish();
  /// Records a failure of this rank: finish() throws it on all ranks.
  void fail(const std::string& why);
  /// Whether an Error was thrown on all ranks.
  bool failed() const { return broken_; }
  /// See CheckpointLoader.
  std::string unshared() const { return memory_ ? memory_->refusal() : std::string(); }
  std::int64_t bytes_read() const { return bytes_read_; }

 private:
  /// A round. Its number selects its buffers in NodeMemory.
  struct Round {
    LoadRound plan;
    std::vector<std::pair<std::int64_t, std::byte*>> mine;  // this rank's chunks and their data
    std::vector<BlockReading> readings;                     // chunks read from disk into own memory
    std::vector<std::byte*> landings;                       // memory of each of plan.duties
    int number = 0;
    std::byte* shared = nullptr;  // its buffer of the node's shared memory
  };

  void begin();
  void advance();
  std::vector<std::int64_t> offer() const;
  std::byte* place_of(const Round& round, const LoadPlace& place) const;
  Round start_round();
  void start_readings(Round& round);
  void complete(Round& round);
  void check_block(BlockReading reading, std::byte* place);

  const CheckpointReader& reader_;
  Ranks ranks_;
  LoaderOptions options_;
  CheckpointBlocks blocks_;
  CheckpointBlockReader disk_;
  std::vector<std::int64_t> sequence_;  // chunks that this rank needs, without repeats in a row
  std::size_t next_ = 0;                // in sequence_: first chunk that no round has yet
  std::unique_ptr<NodeMemory> memory_;  // set by begin()
  std::optional<LoadPlanner> planner_;  // set by begin()
  Round now_;                           // the round being used
  std::size_t at_ = 0;                  // index in now_.mine of the chunk read last
  std::deque<Round> ahead_;             // rounds in flight
  int rounds_ = 0;                      // rounds started
  std::string failure_;                 // of this rank, not yet agreed on
  bool broken_ = false;                 // all ranks have thrown one
  std::int64_t bytes_read_ = 0;
};

}  // namespace triax
