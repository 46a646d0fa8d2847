#pragma once
// What moves the blocks of a BlockQueue: io_uring, or threads where the system refuses it. Internal
// to io/.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/direct/block_queue.hpp"

namespace triax {

/// Moves the blocks of a queue between memory and a file, in threads of its own or of its callers.
/// The queue and the file outlive it, and no transfer is under way when it goes.
class BlockEngine {
 public:
  virtual ~BlockEngine() = default;
  /// Called after each BlockQueue::add.
  virtual void wake() = 0;
  /// Called to learn whether a transfer is done: an engine without threads goes on with its work.
  virtual void poll() {}
  /// Called until what is waited for is done: an engine without threads waits for some block and
  /// goes on. Others return at once, and the queue is waited for.
  virtual void work() {}
  /// Whether it has threads of its own.
  virtual bool by_itself() const { return true; }
  /// In a few words: what it is.
  virtual std::string description() const = 0;
};

/// At most `depth` blocks in flight, moved by a thread of its own or, without, in its callers'
/// calls. `memory` is registered with the kernel where the limit on locked memory allows. Null
/// where the kernel refuses io_uring; `refusal` then says how.
std::unique_ptr<BlockEngine> make_uring_engine(int file, BlockQueue& queue, int depth, bool thread,
                                               const std::vector<std::span<std::byte>>& memory,
                                               std::string& refusal);
/// pread(2) and pwrite(2) in at most `depth` threads, and no more than a file can keep busy.
std::unique_ptr<BlockEngine> make_thread_engine(int file, BlockQueue& queue, int depth);

}  // namespace triax
