// SPDX-License-Identifier: Apache-2.0
// Tests of DeviceArena on the emulated device.
#include "kernels/base/device/device_arena.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/base/device/stream_workspace.hpp"
#include "kernels/cuda/launch/stream.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::ptrdiff_t bytes_between(const Tensor& a, const Tensor& b) {
  return static_cast<char*>(b.data()) - static_cast<char*>(a.data());
}

TEST(DeviceArena, IsOnePieceCutInTheOrderOfItsParts) {
  const std::int64_t before = device_facts().free_bytes;
  {
    DeviceArena arena({{"parameters", 1000}, {"frames", 512 + 256}, {"none", 0}, {"batches", 1}});
    EXPECT_EQ(arena.bytes(), 1024 + 768 + 256);
    EXPECT_EQ(before - device_facts().free_bytes, 4096) << "a page of the emulated device";
    // The order of calls does not matter.
    const Tensor batches = arena.take("batches", 1);
    const Tensor frames = arena.take("frames", 300);
    const Tensor parameters = arena.take("parameters", 1000);
    const Tensor more = arena.take("frames", 256);
    EXPECT_EQ(bytes_between(parameters, frames), 1024);
    EXPECT_EQ(bytes_between(frames, more), 512);
    EXPECT_EQ(bytes_between(parameters, batches), 1024 + 768);
    EXPECT_EQ(arena.take("none", 0).data(), nullptr);
    EXPECT_EQ(parameters.space(), MemorySpace::device);
    EXPECT_NO_THROW(arena.check_full());
    EXPECT_EQ(before - device_facts().free_bytes, 4096) << "nothing more was taken";
  }
  EXPECT_EQ(device_facts().free_bytes, before);
}

TEST(DeviceArena, NamesThePartThatDoesNotFit) {
  DeviceArena arena({{"parameters", 512}, {"moments", 512}});
  arena.take("moments", 256);
  EXPECT_THAT(error_of([&] { arena.take("moments", 257); }),
              AllOf(HasSubstr("moments do not fit"), HasSubstr("256 bytes of 512 are left"),
                    HasSubstr("512 were asked for")));
  EXPECT_THAT(error_of([&] { arena.take("gradients", 1); }), HasSubstr("no part \"gradients\""));
}

TEST(DeviceArena, NamesThePartThatWasNotTakenWhole) {
  DeviceArena arena({{"parameters", 512}, {"moments", 512}});
  arena.take("parameters", 512);
  arena.take("moments", 256);
  EXPECT_THAT(error_of([&] { arena.check_full(); }),
              AllOf(HasSubstr("moments have taken 256 bytes"), HasSubstr("512 were planned")));
}

TEST(DeviceArena, ListsItsPartsWhereTheDeviceHasNoRoom) {
  const std::int64_t before = device_facts().free_bytes;
  EXPECT_THAT(error_of([] {
                DeviceArena({{"parameters", std::int64_t{1} << 40}, {"frames", 3 << 20}});
              }),
              AllOf(HasSubstr("out of memory"), HasSubstr("parameters 1048576.0"),
                    HasSubstr("frames 3.0")));
  EXPECT_EQ(device_facts().free_bytes, before);
}

TEST(MemorySource, IsAnArenaOrMemoryOfItsOwn) {
  DeviceArena arena({{"gradients", 256}});
  const Memory cut = MemorySource(MemorySpace::device, &arena).take("gradients", 8);
  const Memory own = MemorySource(MemorySpace::device).take("gradients", 8);
  EXPECT_EQ(cut.bytes(), 8U);
  EXPECT_EQ(own.space(), MemorySpace::device);
  EXPECT_EQ(cut.tensor(DType::f32, {2}).data(), cut.data());
  EXPECT_THROW(cut.tensor(DType::f32, {3}), Error);
  EXPECT_NO_THROW(arena.check_full());
}

TEST(FurnishedStream, HasItsMemoryFromTheArena) {
  DeviceArena arena({{"streams", workspace_bytes()}});
  const Stream stream(MemorySpace::device);
  set_workspace(stream, {MemorySpace::device, &arena});
  EXPECT_NO_THROW(arena.check_full());
  const std::int64_t free = device_facts().free_bytes;
  for (const auto& [what, bytes] : cuda::stream_memories) {
    const Memory& memory = cuda::memory_of(stream, what);
    EXPECT_EQ(memory.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % DeviceArena::alignment, 0U);
  }
  EXPECT_EQ(device_facts().free_bytes, free);
  EXPECT_THROW(set_workspace(stream, MemorySpace::device), Error) << "twice";
}

}  // namespace
}  // namespace triax::test
