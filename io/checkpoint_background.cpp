#include "io/checkpoint_background.hpp"

#include "kernels/base/quiet_thread.hpp"

namespace triax {

BackgroundWrite::BackgroundWrite(CheckpointWriter& writer, const CheckpointSnapshot& snapshot)
    : thread_(start_quiet_thread([this, &writer, &snapshot] { write(writer, snapshot); })) {}

BackgroundWrite::~BackgroundWrite() {
  stop_ = true;
  wait();
}

void BackgroundWrite::wait() {
  if (thread_.joinable()) thread_.join();
}

void BackgroundWrite::write(CheckpointWriter& writer, const CheckpointSnapshot& snapshot) {
  snapshot.each(
      [&](const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data) {
        if (!stop_) writer.write(name, boxes, data, Lifetime::finish);
      });
  if (stop_)
    writer.fail("it was given up");
  else
    writer.flush();
  done_.store(true, std::memory_order_release);
}

}  // namespace triax
