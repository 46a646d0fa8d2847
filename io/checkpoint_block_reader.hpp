#pragma once
// Reads blocks of a checkpoint past the page cache, several at a time. Internal to io/.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "io/block_file.hpp"
#include "io/checkpoint_blocks.hpp"

namespace triax {

/// One block under way to memory.
struct BlockReading {
  std::int64_t block = 0;
  std::byte* memory = nullptr;
  std::vector<FileRange> ranges;
  std::vector<std::shared_ptr<void>> files;  // of the ranges, open while requests go to them
  std::vector<BlockRequest> requests;
  bool refused = false;  // some of them were not done
  std::string failure;
};

/// By one thread. Both arguments outlive it.
class CheckpointBlockReader {
 public:
  CheckpointBlockReader(const CheckpointBlocks& blocks, const CheckpointReader& reader)
      : blocks_(blocks), reader_(reader), files_(blocks.files().size()) {}

  /// Begins to read a block to its footprint of memory, which begins at a page. A failure is kept
  /// for finish().
  BlockReading start(std::int64_t block, std::byte* memory);
  /// Waits until the disk has done with it: it may be given more to do before finish().
  static void wait(BlockReading& reading);
  /// Waits; the block's elements, at its data_offset in that memory. Error where the disk fails.
  Tensor finish(
      BlockReading& reading) const;  // through the page cache where that alone is possible

 private:
  struct OneFile;
  void start_range(const FileRange& range, std::byte* memory, BlockReading& reading);
  std::shared_ptr<OneFile> file_of(std::size_t number);
  void read_again(const BlockReading& reading) const;

  static constexpr std::size_t most_open = 8;  // files that nothing is read from
  const CheckpointBlocks& blocks_;
  const CheckpointReader& reader_;
  std::vector<std::shared_ptr<OneFile>> files_;  // those that are open
  std::vector<std::size_t> recent_;              // of them, the last used last
};

}  // namespace triax
