// SPDX-License-Identifier: Apache-2.0
#pragma once
// Engines that move the blocks of a BlockQueue: io_uring, or threads where the system refuses it.
// Internal to io/.
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
  /// Called after each BlockQueue::add().
  virtual void wake() = 0;
  /// Called before a transfer is tested: an engine without threads makes progress here.
  virtual void poll() {}
  /// Called in a loop until a transfer is done: an engine without threads waits for one block and
  /// starts more. Engines with threads return at once; the caller waits on the queue.
  virtual void work() {}
  /// Whether it has threads of its own.
  virtual bool by_itself() const { return true; }
  /// A few words for the log.
  virtual std::string description() const = 0;
};

/// io_uring engine with at most `depth` blocks in flight, driven by a thread of its own (`thread`)
/// or in the calls of its user. Registers `memory` with the kernel where the limit on locked memory
/// allows it. Null where the kernel refuses io_uring; `refusal` is then the reason.
std::unique_ptr<BlockEngine> make_uring_engine(int file, BlockQueue& queue, int depth, bool thread,
                                               const std::vector<std::span<std::byte>>& memory,
                                               std::string& refusal);
/// Engine of at most min(`depth`, 8) threads that call pread(2) and pwrite(2).
std::unique_ptr<BlockEngine> make_thread_engine(int file, BlockQueue& queue, int depth);

}  // namespace triax
