#pragma once
// Reads blocks of a checkpoint past the page cache, several at a time. Internal to io/.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/load/checkpoint_blocks.hpp"
#include "io/direct/block_file.hpp"

namespace triax {

/// What the disk was asked for at once: blocks that adjoin in a file.
struct BlockRun {
  std::vector<FileRange> ranges;  // all of it, each in whole pages of memory from here on
  std::byte* memory = nullptr;
  std::vector<std::shared_ptr<void>> files;  // open while requests go to them
  std::vector<BlockRequest> requests;
  bool refused = false;  // some of them were not done
  std::string failure;
};

/// One block under way to memory.
struct BlockReading {
  std::int64_t block = 0;
  std::byte* memory = nullptr;  // its data are at its data_offset there
  std::vector<FileRange> ranges;
  std::shared_ptr<BlockRun> run;
};

/// By one thread. Both arguments outlive it.
class CheckpointBlockReader {
 public:
  CheckpointBlockReader(const CheckpointBlocks& blocks, const CheckpointReader& reader)
      : blocks_(blocks), reader_(reader), files_(blocks.files().size()) {}

  /// Begins to read blocks to memory, which begins at a page and has room for their footprints; in
  /// which order is the reader's choice. Each request costs a disk time: what adjoins is one. A
  /// failure is kept for finish(). The readings are in the order of the blocks.
  std::vector<BlockReading> start(std::span<const std::int64_t> blocks, std::byte* memory);
  /// Waits until the disk has done with it: it may be given more to do before finish().
  static void wait(BlockReading& reading);
  /// Waits; the block's elements, at its data_offset in that memory. Through the page cache where
  /// that alone is possible: then all blocks that adjoin this one in memory are read before the
  /// first of them is handed out, which may be in use when the next is. Error where the disk fails.
  Tensor finish(BlockReading& reading) const;

 private:
  struct OneFile;
  void start_range(const FileRange& range, std::byte* memory, BlockRun& run);
  void start_run(std::span<BlockReading* const> adjoining, std::byte* memory);
  std::shared_ptr<OneFile> file_of(std::size_t number);
  void read_again(BlockRun& run) const;

  static constexpr std::size_t most_open = 8;  // files that nothing is read from
  const CheckpointBlocks& blocks_;
  const CheckpointReader& reader_;
  std::vector<std::shared_ptr<OneFile>> files_;  // those that are open
  std::vector<std::size_t> recent_;              // of them, the last used last
};

}  // namespace triax
