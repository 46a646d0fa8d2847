#pragma once
// Copies a rank's part of a checkpoint and writes it into the file while the caller goes on.
#include <atomic>
#include <thread>

#include "io/checkpoint/checkpoint_file.hpp"
#include "io/checkpoint/checkpoint_snapshot.hpp"

namespace triax {

/// From the constructor to wait() a thread of its own calls `snapshot`'s copy, then `writer`'s
/// write and flush, and nobody else may use them. A failure is kept in the writer.
class BackgroundWrite {
 public:
  /// Both outlive the object. `stream`: for the copies, and theirs alone. Error of std::thread
  /// where there is none to be had; then nothing is copied.
  BackgroundWrite(CheckpointWriter& writer, CheckpointSnapshot& snapshot,
                  const Stream& stream = Stream());
  /// Stops soon where it is not done: the file is then incomplete. What was added to the snapshot
  /// is not read any more.
  ~BackgroundWrite();
  BackgroundWrite(const BackgroundWrite&) = delete;
  BackgroundWrite& operator=(const BackgroundWrite&) = delete;

  /// Waits until what was added to the snapshot is copied, and may change.
  void wait_copied() const;
  /// True when all is on disk, or the failure known: wait() returns at once.
  bool done() const { return done_.load(std::memory_order_acquire); }
  void wait();

 private:
  void write(CheckpointWriter& writer, CheckpointSnapshot& snapshot, const Stream& stream);

  std::atomic<bool> copied_ = false;
  std::atomic<bool> done_ = false;
  std::atomic<bool> stop_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace triax
