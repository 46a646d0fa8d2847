// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work on the emulated device besides kernels. As on a GPU, work waits in its stream until somebody
// waits for it or frees memory, and the host cannot touch device memory. Code that forgets to wait,
// or reads a device tensor, fails here as on a GPU.
// tests/parity/test_device.cpp trains on it.
#include <functional>

#include "kernels/base/device/device.hpp"

namespace triax::cuda::emulator {

/// Puts `work`, which may use device memory, on a device stream. On a host stream it runs at once.
void enqueue(const Stream& stream, std::function<void()> work);

/// Puts work that needs other processes on a stream (given by its handle): it starts when ready()
/// is true. Whoever waits for the stream calls ready() repeatedly; ready() must not touch device
/// memory. The returned function runs the work of the stream up to and including this one as far as
/// it is ready, and returns true when all of it is done.
std::function<bool()> enqueue_when(void* stream, std::function<bool()> ready,
                                   std::function<void()> work);

}  // namespace triax::cuda::emulator
