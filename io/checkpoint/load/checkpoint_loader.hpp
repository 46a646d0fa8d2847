#pragma once
// Reads a checkpoint so that what several ranks need at about the same time leaves the disk once
// and is checked once.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_file.hpp"
#include "io/checkpoint/load/node_memory.hpp"
#include "io/direct/block_file.hpp"
#include "kernels/base/mpi/agree.hpp"

namespace triax {

class CheckpointRounds;

/// Of float32, with the pages that its ends lie in.
constexpr std::int64_t loading_block_bytes =
    integrity_block * std::int64_t{sizeof(float)} + 2 * BlockFile::alignment;
/// What a rank takes of memory for blocks at most, its part of what a node's ranks share included
/// (see NodeMemory).
constexpr std::int64_t loading_bytes_at_once = most_blocks * loading_block_bytes;

struct LoaderOptions {
  /// Bytes of blocks that a node's ranks have in a round, of which several are on their way while
  /// one is handed out (parts_ahead). Each rank has a block at least, a quarter at most.
  std::int64_t window_bytes = 4 * loading_block_bytes;
  int node = -1;  // ranks with the same number share memory; -1: those of a machine (NodeMemory)
  /// Of the caller, who uses it for nothing else until the loader is gone: where it is enough it
  /// takes the place of the rank's own. Memory that was written before saves the time in which the
  /// system, or the host of a virtual machine, finds new pages.
  std::span<std::byte> memory = {};
};

/// Every rank says first what it needs, then asks for the same in the same order. Ranks go in
/// rounds: of the blocks that all need next, one of those that need a block reads it, past the page
/// cache where the file has it plainly, compares it with its checksum and passes it on. A block
/// that a rank comes back to after others that fill the window is read again. Ranks drift apart as
/// long as they share nothing.
///
/// Ranks wait for each other in read and finish. A damaged block or a failing disk is an Error of
/// those on all ranks alike, after which the loader does nothing more. It may be one of a later
/// call than the one that handed out the damaged data: until finish() has returned, none are good.
class CheckpointLoader {
 public:
  /// Collective. `reader` outlives it. Error, on all ranks alike, where the file's lists are
  /// damaged.
  CheckpointLoader(const CheckpointReader& reader, const Ranks& ranks,
                   const LoaderOptions& options = {});
  ~CheckpointLoader();
  CheckpointLoader(const CheckpointLoader&) = delete;
  CheckpointLoader& operator=(const CheckpointLoader&) = delete;

  /// False for a file of format 1: what is read cannot be checked.
  bool has_checksums() const;
  /// This rank will read `boxes` of a tensor (see hdf5::File::read). Before the first read.
  void want(const std::string& name, const std::vector<hdf5::Box>& boxes);
  /// The elements in `boxes` to `data`, as float32 or in the tensor's own type. What several calls
  /// read may have been wanted at once, if that is the same in order.
  void read(const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data);
  /// This rank could not use what it read: an Error of finish() on all ranks.
  void fail(const std::string& why);
  /// True once read or finish has thrown an Error on all ranks.
  bool failed() const;
  /// Every rank, when it has read all that it wanted.
  void finish();
  /// After the first read: empty; or why ranks of some node share no memory, so that each of them
  /// reads for itself what the others need too. The same on all ranks.
  std::string unshared() const;
  /// Bytes that this rank has read from the disk.
  std::int64_t bytes_read() const;

 private:
  std::unique_ptr<CheckpointRounds> rounds_;
};

}  // namespace triax
