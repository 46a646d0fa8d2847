// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_background.hpp"

#include <exception>
#include <utility>

#include "kernels/base/process/quiet_thread.hpp"

namespace triax {

BackgroundWrite::BackgroundWrite(CheckpointWriter& writer, CheckpointSnapshot& snapshot,
                                 const Stream& stream, std::function<void()> more)
    : thread_(start_quiet_thread([this, &writer, &snapshot, stream, more = std::move(more)] {
        write(writer, snapshot, stream, more);
      })) {}

BackgroundWrite::~BackgroundWrite() {
  stop_ = true;
  wait();
}

void BackgroundWrite::wait() {
  if (thread_.joinable()) thread_.join();
}

// Acquire and release: all reads of the sources happen before copied_ becomes true, and the caller
// writes to them only after it has seen that.
void BackgroundWrite::wait_copied() const {
  copied_.wait(false, std::memory_order_acquire);
}

void BackgroundWrite::write(CheckpointWriter& writer, CheckpointSnapshot& snapshot,
                            const Stream& stream, const std::function<void()>& more) {
  try {
    stream.attach_thread();
    snapshot.copy(stream, [&](const std::string& name, const std::vector<hdf5::Box>& boxes) {
      return writer.offset(name, boxes);
    });
  } catch (const std::exception& error) {
    writer.fail(failure_text(error));
  }
  copied_.store(true, std::memory_order_release);
  copied_.notify_all();
  if (snapshot.whole())
    snapshot.each(
        [&](const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data) {
          if (!stop_) writer.write(name, boxes, data, Lifetime::finish);
        });
  if (more && !stop_) more();
  if (stop_)
    writer.fail("it was given up");
  else
    writer.flush();
  done_.store(true, std::memory_order_release);
}

}  // namespace triax
