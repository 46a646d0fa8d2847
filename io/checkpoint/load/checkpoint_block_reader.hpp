// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads checksum chunks of a checkpoint past the page cache, several at a time. Internal to io/.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/load/checkpoint_blocks.hpp"
#include "io/direct/block_file.hpp"

namespace triax {

/// One read from the disk: chunks that adjoin in a file, or one chunk in several ranges.
struct BlockRun {
  std::vector<FileRange>
      ranges;  // all ranges, each in whole pages, one behind the other in `memory`
  std::byte* memory = nullptr;
  std::vector<std::shared_ptr<void>> files;  // kept open during the requests
  std::vector<BlockRequest> requests;
  bool refused = false;  // some requests failed
  std::string failure;
};

/// One chunk being read.
struct BlockReading {
  std::int64_t block = 0;
  std::byte* memory = nullptr;  // its pages; the data begin at data_offset()
  std::vector<FileRange> ranges;
  std::shared_ptr<BlockRun> run;
};

/// Used by one thread. Both constructor arguments outlive it.
class CheckpointBlockReader {
 public:
  CheckpointBlockReader(const CheckpointBlocks& blocks, const CheckpointReader& reader)
      : blocks_(blocks), reader_(reader), files_(blocks.files().size()) {}

  /// Starts reading chunks into `memory`, which begins at a page and has room for their footprints.
  /// The reader chooses their order there. Adjoining chunks become one request, as each request
  /// costs a disk time. A failure is kept for finish(). Returns the readings in the order of
  /// `blocks`.
  std::vector<BlockReading> start(std::span<const std::int64_t> blocks, std::byte* memory);
  /// Waits until the disk has finished the reading, so that more reads can be started before
  /// finish().
  static void wait(BlockReading& reading);
  /// Waits and returns the chunk's elements, at data_offset() in its memory. Where reads past the
  /// page cache are refused, it reads through the cache: all adjoining chunks of the request at
  /// once, as the first one may be in use when the next is finished. Error where the disk fails.
  Tensor finish(BlockReading& reading) const;

 private:
  struct OneFile;
  void start_range(const FileRange& range, std::byte* memory, BlockRun& run);
  void start_run(std::span<BlockReading* const> adjoining, std::byte* memory);
  std::shared_ptr<OneFile> file_of(std::size_t number);
  void read_again(BlockRun& run) const;

  static constexpr std::size_t most_open = 8;  // files kept open, beside those with requests
  const CheckpointBlocks& blocks_;
  const CheckpointReader& reader_;
  std::vector<std::shared_ptr<OneFile>> files_;  // null: not open
  std::vector<std::size_t> recent_;              // open files, most recently used last
};

}  // namespace triax
