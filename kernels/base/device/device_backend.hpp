#pragma once
// What kernels/base/device/device.cpp asks of a GPU. Defined once in a program: by
// device_absent.cpp in a build without CUDA, by kernels/cuda/launch/device.cpp in one with it, by
// tests/support/emulator/device_emulated.cpp in tests that run the kernels of the device on the
// host. Handles of streams and events are opaque.
#include <cstddef>
#include <memory>

#include "kernels/base/device/device.hpp"

namespace triax::device_backend {

using Handle = std::shared_ptr<void>;

int count();
void bind(int index);
DeviceFacts facts();
/// Of GPU `index`, bound or not.
DevicePlace place(int index);

Handle make_stream();
/// Its work goes before that of other streams where both could run; before it has any.
void raise_priority(void* stream);
void synchronize_stream(void* stream);
void attach_thread(void* stream);
/// As the device's own libraries know it: a cudaStream_t.
void* native_stream(void* stream);
Handle make_event();
void record(void* event, void* stream);
void wait(void* stream, void* event);
bool done(void* event);
void synchronize_event(void* event);

/// Zeroed; an Error when memory runs out.
void* allocate(std::size_t bytes);
void release(void* memory) noexcept;
/// Locks host memory in place, so that copies to and from the device need not stop over.
void pin(void* memory, std::size_t bytes);
/// When what the device has to do is done: it may copy from this memory, or to it. Where that may
/// be a message that other ranks never join, memory must stay (fail_run in
/// src/commands/commands.cpp).
void unpin(void* memory) noexcept;

void copy(void* stream, void* to, const void* from, std::size_t bytes);
void fill_zero(void* stream, void* memory, std::size_t bytes);

}  // namespace triax::device_backend
