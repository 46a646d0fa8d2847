#pragma once
// Writes a snapshot into a checkpoint's file while the caller goes on.
#include <atomic>
#include <thread>

#include "io/checkpoint_file.hpp"
#include "io/checkpoint_snapshot.hpp"

namespace triax {

/// From the constructor to wait() a thread of its own calls `writer`'s write and flush, and nobody
/// else may use it. A failure is kept in the writer.
class BackgroundWrite {
 public:
  /// Both outlive the object.
  BackgroundWrite(CheckpointWriter& writer, const CheckpointSnapshot& snapshot);
  /// Stops soon where it is not done: the file is then incomplete.
  ~BackgroundWrite();
  BackgroundWrite(const BackgroundWrite&) = delete;
  BackgroundWrite& operator=(const BackgroundWrite&) = delete;

  /// True when all is on disk, or the failure known: wait() returns at once.
  bool done() const { return done_.load(std::memory_order_acquire); }
  void wait();

 private:
  void write(CheckpointWriter& writer, const CheckpointSnapshot& snapshot);

  std::atomic<bool> done_ = false;
  std::atomic<bool> stop_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace triax
