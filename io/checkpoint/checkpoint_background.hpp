// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies a rank's share of a checkpoint and writes it to the file while the caller continues.
#include <atomic>
#include <functional>
#include <thread>

#include "io/checkpoint/checkpoint_snapshot.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"

namespace triax {

/// Runs `snapshot`'s copy() and then `writer`'s write() and flush() in a thread of its own. Nobody
/// else may use either of them from the constructor until wait() returns. The writer keeps a
/// failure. `more`: called between write() and flush(), to write what is not in the snapshot.
class BackgroundWrite {
 public:
  /// `writer` and `snapshot` outlive the object. `stream`: runs the copies and nothing else.
  /// std::system_error where no thread can be started; nothing is copied then.
  BackgroundWrite(CheckpointWriter& writer, CheckpointSnapshot& snapshot,
                  const Stream& stream = Stream(), std::function<void()> more = {});
  /// Stops an unfinished write soon, which leaves the file incomplete. The sources of the snapshot
  /// are not read afterwards.
  ~BackgroundWrite();
  BackgroundWrite(const BackgroundWrite&) = delete;
  BackgroundWrite& operator=(const BackgroundWrite&) = delete;

  /// Waits until the snapshot is copied: its sources may change then.
  void wait_copied() const;
  /// True when all data are on disk or the write has failed: wait() then returns at once.
  bool done() const { return done_.load(std::memory_order_acquire); }
  void wait();

 private:
  void write(CheckpointWriter& writer, CheckpointSnapshot& snapshot, const Stream& stream,
             const std::function<void()>& more);

  std::atomic<bool> copied_ = false;
  std::atomic<bool> done_ = false;
  std::atomic<bool> stop_ = false;
  std::thread thread_;  // declared last: it uses the other members
};

}  // namespace triax
