// SPDX-License-Identifier: Apache-2.0
#pragma once
// The GPU interface that kernels/base/device/device.cpp calls. A program links one definition:
// device_absent.cpp without CUDA, kernels/cuda/launch/device.cpp with it, or
// tests/support/emulator/device_emulated.cpp in tests that run the device's kernels on the host.
// Handles of streams and events are opaque.
#include <cstddef>
#include <memory>

#include "kernels/base/device/device.hpp"

namespace triax::device_backend {

using Handle = std::shared_ptr<void>;

int count();
void bind(int index);
DeviceFacts facts();
/// Identity of GPU `index`, bound or not.
DevicePlace place(int index);

Handle make_stream();
/// Gives the stream's work precedence over that of other streams. Call before it has any work.
void raise_priority(void* stream);
void synchronize_stream(void* stream);
void attach_thread(void* stream);
/// The stream as CUDA libraries take it: a cudaStream_t.
void* native_stream(void* stream);
Handle make_event();
void record(void* event, void* stream);
void wait(void* stream, void* event);
bool done(void* event);
void synchronize_event(void* event);

/// Zeroed device memory. An Error if memory runs out.
void* allocate(std::size_t bytes);
void release(void* memory) noexcept;
/// Locks host memory, so that copies to and from the device need no bounce buffer.
void pin(void* memory, std::size_t bytes);
/// Unlocks host memory after the device has finished its pending work, which may still use it.
/// Memory in use by a message that other ranks never join must stay locked (fail_run in
/// src/commands/failure.cpp).
void unpin(void* memory) noexcept;

void copy(void* stream, void* to, const void* from, std::size_t bytes);
void fill_zero(void* stream, void* memory, std::size_t bytes);

}  // namespace triax::device_backend
