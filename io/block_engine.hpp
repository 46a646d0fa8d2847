#pragma once
// What moves the blocks of a BlockQueue: io_uring, or threads where the system refuses it. Internal
// to io/.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/block_queue.hpp"

namespace triax {

/// Moves the blocks of a queue between memory and a file, in threads of its own. The queue and the
/// file outlive it, and no transfer is under way when it goes.
class BlockEngine {
 public:
  virtual ~BlockEngine() = default;
  /// Called after each BlockQueue::add.
  virtual void wake() = 0;
  /// In a few words: what it is.
  virtual std::string description() const = 0;
};

/// At most `depth` blocks in flight. `memory` is registered with the kernel where the limit on
/// locked memory allows. Null where the kernel refuses io_uring; `refusal` then says how.
std::unique_ptr<BlockEngine> make_uring_engine(int file, BlockQueue& queue, int depth,
                                               const std::vector<std::span<std::byte>>& memory,
                                               std::string& refusal);
/// pread(2) and pwrite(2) in at most `depth` threads, and no more than a file can keep busy.
std::unique_ptr<BlockEngine> make_thread_engine(int file, BlockQueue& queue, int depth);

}  // namespace triax
