#pragma once
// What the emulated device does beside kernels. As on a GPU, work waits in its stream until
// somebody waits for it, and the host cannot touch the device's memory: code that forgets to wait,
// or reads a device's tensor, fails here as it would there.
#include <functional>

#include "kernels/base/device/device.hpp"

namespace triax::cuda::emulator {

/// Puts `work` on a stream of the device, whose memory it may use; on a stream of the host it is
/// done at once.
void enqueue(const Stream& stream, std::function<void()> work);

/// Puts work on a stream, by its handle, that begins when ready() is true: that of what needs other
/// processes. Whoever waits asks ready() again and again; it must not touch the device's memory.
/// What is returned does the work of the stream up to this one and with it, as far as all is ready,
/// and is true when it is done.
std::function<bool()> enqueue_when(void* stream, std::function<bool()> ready,
                                   std::function<void()> work);

}  // namespace triax::cuda::emulator
