// SPDX-License-Identifier: Apache-2.0
// Tests of the emulated device: work runs as late, and memory is as closed, as on a GPU.
#include <gtest/gtest.h>

#include <memory>

#include "kernels/base/device/mirror.hpp"
#include "tests/support/emulator/emulated_device.hpp"

namespace triax {
namespace {

float& here(const Mirror& memory) {
  return *static_cast<float*>(memory.here().data());
}

TEST(EmulatedDevice, ItsMemoryIsClosedToTheHost) {
  const Buffer memory(64, MemorySpace::device);
  const auto* const bytes = static_cast<const volatile char*>(memory.data());
  EXPECT_DEATH(static_cast<void>(bytes[0]), "");
  const Stream stream(MemorySpace::device);
  char seen = 1;
  cuda::emulator::enqueue(stream, [&] { seen = bytes[0]; });
  stream.synchronize();
  EXPECT_EQ(seen, 0) << "open to its work, and zeroed";
  EXPECT_DEATH(static_cast<void>(bytes[0]), "");
}

TEST(EmulatedDevice, WorkIsDoneByWhoWaitsForIt) {
  const Stream stream(MemorySpace::device);
  const Mirror memory(MemorySpace::device, sizeof(float));
  here(memory) = 1.0F;
  memory.push(stream);
  here(memory) = 2.0F;  // too early: the copy has not run yet
  memory.pull(stream);
  EXPECT_EQ(here(memory), 2.0F);
  int done = 0;
  cuda::emulator::enqueue(stream, [&] { ++done; });
  EXPECT_EQ(done, 0);
  Event event;
  event.record(stream);
  cuda::emulator::enqueue(stream, [&] { ++done; });
  event.synchronize();
  EXPECT_EQ(done, 1);
  stream.synchronize();
  EXPECT_EQ(done, 2);
}

// Pageable memory is read before the call returns, as by a GPU driver that stages it. CUDA does not
// promise that, so triax copies from pinned memory only.
TEST(EmulatedDevice, CopiesOfPageableMemoryDoNotWait) {
  const Stream stream(MemorySpace::device);
  const Buffer there(sizeof(float), MemorySpace::device);
  float value = 3.0F, back = 0.0F;
  copy(stream, there.tensor(DType::f32, {1}), Tensor(&value, {1}));
  value = 4.0F;
  copy(stream, Tensor(&back, {1}), there.tensor(DType::f32, {1}));
  EXPECT_EQ(back, 3.0F);
}

constexpr std::int64_t many = std::int64_t{1}
                              << 20;  // floats: so large that the system takes freed memory back

Tensor floats(const Buffer& memory) {
  return memory.tensor(DType::f32, {many});
}
float& last(const Buffer& memory) {
  return static_cast<float*>(memory.data())[many - 1];
}

// Copies from or to host memory finish before that memory is freed, also if their stream is gone or
// waits for another stream.
TEST(EmulatedDevice, MemoryThatIsInUseIsNotGivenBack) {
  constexpr auto bytes = static_cast<std::size_t>(many) * sizeof(float);
  const Stream stream(MemorySpace::device);
  const Buffer there(bytes, MemorySpace::device), back = Buffer::pinned(bytes);
  Event sent;
  {
    const Buffer from = Buffer::pinned(bytes), to = Buffer::pinned(bytes);
    const Stream other(MemorySpace::device);
    last(from) = 3.0F;
    copy(other, floats(there), floats(from));
    copy(other, floats(to), floats(there));
    sent.record(other);
    stream.wait(sent);
  }
  copy(stream, floats(back), floats(there));
  stream.synchronize();
  EXPECT_EQ(last(back), 3.0F);
}

TEST(EmulatedDevice, WorkOutlivesItsStream) {
  int done = 0;
  {
    const Stream stream(MemorySpace::device);
    cuda::emulator::enqueue(stream, [&] { ++done; });
  }
  EXPECT_EQ(done, 0) << "nobody has waited";
  { const Buffer memory(64, MemorySpace::device); }
  EXPECT_EQ(done, 1);
}

// Freeing memory cannot report a failure, so the next wait does.
TEST(EmulatedDevice, WorkThatFailedIsToldToWhoWaits) {
  const Stream stream(MemorySpace::device);
  int done = 0;
  {
    const Buffer memory(64, MemorySpace::device);
    cuda::emulator::enqueue(stream, [] { check(false, "a kernel that fails"); });
    cuda::emulator::enqueue(stream, [&] { ++done; });
  }
  EXPECT_EQ(done, 1);
  EXPECT_THROW(stream.synchronize(), Error);
  stream.synchronize();
}

TEST(EmulatedDevice, WorkFreesNoMemory) {
  const auto free_within = [] {
    const Stream stream(MemorySpace::device);
    auto memory = std::make_shared<Buffer>(64, MemorySpace::device);
    cuda::emulator::enqueue(stream, [memory] { *memory = Buffer(); });
    memory.reset();
    stream.synchronize();
  };
  EXPECT_DEATH(free_within(), "frees memory");
}

TEST(EmulatedDevice, AStreamWaitsForAnEventOfAnother) {
  const Stream first(MemorySpace::device), second(MemorySpace::device);
  std::vector<int> order;
  cuda::emulator::enqueue(first, [&] { order.push_back(1); });
  Event event;
  event.record(first);
  cuda::emulator::enqueue(first, [&] { order.push_back(3); });
  second.wait(event);
  cuda::emulator::enqueue(second, [&] { order.push_back(2); });
  second.synchronize();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  first.synchronize();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(EmulatedDevice, MemoryThatIsGivenBackIsTakenAgain) {
  const std::int64_t before = device_facts().free_bytes;
  void* first = nullptr;
  {
    const Buffer memory(100'000, MemorySpace::device);
    first = memory.data();
    EXPECT_LT(device_facts().free_bytes, before);
  }
  EXPECT_EQ(device_facts().free_bytes, before);
  EXPECT_EQ(Buffer(100'000, MemorySpace::device).data(), first);
}

}  // namespace
}  // namespace triax
