// A device for tests without one: its memory is the host's, and a stream's work is done when the
// call returns (emulator.hpp).
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/base/device_backend.hpp"
#include "kernels/cuda/stream.hpp"

namespace triax::cuda {
namespace {

struct Queue {
  std::vector<double> scratch = std::vector<double>(stream_scratch_bytes / sizeof(double));
  std::array<std::shared_ptr<void>, kept_count> kept;
};

}  // namespace

void* native_stream(const Stream& stream) {
  return stream.handle();
}

void* stream_scratch(const Stream& stream) {
  return static_cast<Queue*>(stream.handle())->scratch.data();
}

std::shared_ptr<void>& kept_by(const Stream& stream, Kept what) {
  return static_cast<Queue*>(stream.handle())->kept[static_cast<std::size_t>(what)];
}

}  // namespace triax::cuda

namespace triax::device_backend {

int count() {
  return 1;
}
void bind(int index) {
  check(index == 0, "there is one emulated device, not {}", index + 1);
}
Handle make_stream() {
  return std::make_shared<cuda::Queue>();
}
void synchronize_stream(void*) {}
Handle make_event() {
  return std::make_shared<int>();
}
void record(void*, void*) {}
void wait(void*, void*) {}
bool done(void*) {
  return true;
}
void synchronize_event(void*) {}

void* allocate(std::size_t bytes) {
  constexpr std::size_t alignment = 256;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  check(memory != nullptr, "out of memory for an emulated device");
  std::memset(memory, 0, rounded);
  return memory;
}
void release(void* memory) noexcept {
  std::free(memory);
}
void pin(void*, std::size_t) {}
void unpin(void*) noexcept {}

void copy(void*, void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}
void fill_zero(void*, void* memory, std::size_t bytes) {
  std::memset(memory, 0, bytes);
}

}  // namespace triax::device_backend
