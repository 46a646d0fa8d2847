// SPDX-License-Identifier: Apache-2.0
// Device backend (kernels/base/device/device_backend.hpp) of the emulated device.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "kernels/base/check.hpp"
#include "kernels/base/device/device_backend.hpp"
#include "kernels/base/wait.hpp"
#include "kernels/cuda/launch/launch_shape.hpp"
#include "tests/support/emulator/emulated_queues.hpp"

namespace triax::cuda::emulator {
namespace {

Queue& queue_of(void* stream) {
  return *static_cast<Queue*>(stream);
}

// Repeats run() until it returns true. It may depend on other processes.
template <class Run>
void finish(const Run& run) {
  for (Patience patience(WaitPolicy::yield); !run(); patience.pause()) {
  }
}

// Finishes all work before memory is freed.
void finish_all() noexcept {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  finish([&] {
    if (Clock::now() - begin > std::chrono::minutes(1))
      give_up("memory goes, and some work never becomes ready");
    return Device::of_process().run_all_and_keep_failure();
  });
}

}  // namespace

void enqueue(const Stream& stream, std::function<void()> work) {
  if (stream.space() == MemorySpace::host) return work();
  Device::of_process().put(queue_of(stream.handle()), std::move(work));
}

std::function<bool()> enqueue_when(void* stream, std::function<bool()> ready,
                                   std::function<void()> work) {
  Queue& queue = queue_of(stream);
  const std::uint64_t end = Device::of_process().put(queue, std::move(work), std::move(ready));
  return [of = queue.weak_from_this(), end] {
    const std::shared_ptr<Queue> known = of.lock();
    return !known || Device::of_process().run(*known, end);
  };
}

}  // namespace triax::cuda::emulator

namespace triax::cuda {

void* native_stream(const Stream& stream) {
  return stream.handle();
}

std::size_t shared_memory_of(const Stream&) {
  return shared_limit;
}

std::shared_ptr<void>& kept_by(const Stream& stream, Kept what) {
  return emulator::queue_of(stream.handle()).kept[static_cast<std::size_t>(what)];
}

}  // namespace triax::cuda

namespace triax::device_backend {

using cuda::emulator::Device;
using cuda::emulator::DeviceMemory;
using cuda::emulator::finish;
using cuda::emulator::finish_all;
using cuda::emulator::Point;
using cuda::emulator::queue_of;

int count() {
  return 1;
}
void bind(int index) {
  check(index == 0, "there is one emulated device, not {}", index + 1);
}
// All ranks share one device, or with TRIAX_TEST_DEVICES=own each has its own.
DevicePlace place(int) {
  const char* const asked = std::getenv("TRIAX_TEST_DEVICES");
  const std::int64_t own = asked != nullptr && asked == std::string_view("own") ? getpid() : 0;
  return {own, own};
}
DeviceFacts facts() {
  return {"emulated device", place(0), static_cast<std::int64_t>(DeviceMemory::capacity),
          static_cast<std::int64_t>(Device::of_process().free_bytes())};
}
Handle make_stream() {
  return Device::of_process().make_queue();
}
void raise_priority(void*) {}
void synchronize_stream(void* stream) {
  auto& queue = queue_of(stream);
  const Point now{queue.shared_from_this(), Device::of_process().end(queue)};
  finish([&] { return Device::of_process().run(now); });
  Device::of_process().throw_failure();
}
void attach_thread(void*) {}
void* native_stream(void* stream) {
  return stream;
}
Handle make_event() {
  return std::make_shared<Point>();
}
void record(void* event, void* stream) {
  Point& point = *static_cast<Point*>(event);
  point.queue = queue_of(stream).shared_from_this();
  point.position = Device::of_process().end(*point.queue);
}
void wait(void* stream, void* event) {
  const auto before = [point = *static_cast<Point*>(event)] {
    return Device::of_process().run(point);
  };
  Device::of_process().put(queue_of(stream), {}, before);
}
bool done(void* event) {
  return Device::of_process().run(*static_cast<Point*>(event));
}
void synchronize_event(void* event) {
  finish([event] { return done(event); });
  Device::of_process().throw_failure();
}

void* allocate(std::size_t bytes) {
  return Device::of_process().allocate(bytes);
}
void release(void* memory) noexcept {
  finish_all();
  Device::of_process().release(memory);
}
void pin(void* memory, std::size_t bytes) {
  Device::of_process().pin(memory, bytes);
}
void unpin(void* memory) noexcept {
  finish_all();
  Device::of_process().unpin(memory);
}

void copy(void* stream, void* to, const void* from, std::size_t bytes) {
  Device& device = Device::of_process();
  device.put(queue_of(stream), [=] { std::memmove(to, from, bytes); });
  if (device.waits_for(to) || device.waits_for(from)) synchronize_stream(stream);
}
void fill_zero(void* stream, void* memory, std::size_t bytes) {
  Device::of_process().put(queue_of(stream), [=] { std::memset(memory, 0, bytes); });
}

}  // namespace triax::device_backend
