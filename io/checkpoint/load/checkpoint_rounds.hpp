#pragma once
// Which blocks of a checkpoint a rank has when: the rounds in which all ranks read them from the
// disk and pass them on. Internal to io/.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/load/checkpoint_block_reader.hpp"
#include "io/checkpoint/load/checkpoint_blocks.hpp"
#include "io/checkpoint/load/checkpoint_loader.hpp"
#include "io/checkpoint/load/load_round.hpp"
#include "io/checkpoint/load/node_memory.hpp"

namespace triax {

/// What CheckpointLoader says of blocks holds here. A block has a number (CheckpointBlocks).
class CheckpointRounds {
 public:
  /// Collective. `file` outlives it.
  CheckpointRounds(const CheckpointReader& file, const Ranks& ranks, const LoaderOptions& options);
  const CheckpointBlocks& blocks() const { return blocks_; }
  /// This rank will need the block. Before the first data_of.
  void want(std::int64_t block);
  /// Where the data begin of the block that was asked for last, or of the next that was wanted;
  /// until another is asked for. Ranks wait for each other.
  const std::byte* data_of(std::int64_t block);
  /// Every rank, when it has all that it wanted.
  void finish();
  /// This rank has failed: an Error of finish() on all ranks.
  void fail(const std::string& why);
  /// All ranks have heard of a failure.
  bool failed() const { return broken_; }
  /// See CheckpointLoader.
  std::string unshared() const { return memory_ ? memory_->refusal() : std::string(); }
  std::int64_t bytes_read() const { return bytes_read_; }

 private:
  /// A round under way; its number says which parts of the memory are its.
  struct Round {
    LoadRound plan;
    std::vector<std::pair<std::int64_t, std::byte*>> mine;  // blocks, where their data begin
    std::vector<BlockReading> readings;                     // those that land in own memory
    std::vector<std::byte*> landings;                       // of plan.duties
    int number = 0;
    std::byte* shared = nullptr;  // its part of what the node's ranks share
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
  std::vector<std::int64_t> sequence_;  // the blocks that this rank needs, none twice in a row
  std::size_t next_ = 0;                // in the sequence: the first that no round has
  std::unique_ptr<NodeMemory> memory_;  // from begin on
  std::optional<LoadPlanner> planner_;  // likewise
  Round now_;                           // what is handed out
  std::size_t at_ = 0;                  // of its blocks: the last one that was read
  std::deque<Round> ahead_;             // what is on its way
  int rounds_ = 0;                      // so far
  std::string failure_;                 // of this rank, not yet told
  bool broken_ = false;                 // all ranks have heard of one
  std::int64_t bytes_read_ = 0;
};

}  // namespace triax
