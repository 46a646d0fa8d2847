// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/device/device.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

namespace triax {
namespace {

TEST(Buffer, IsAlignedAndZeroed) {
  constexpr std::size_t mebi = std::size_t{1} << 20;
  constexpr std::array<std::pair<std::size_t, std::size_t>, 5> cases = {
      {{1, 64}, {1000, 64}, {4096, 4096}, {mebi, 4096}, {3 * mebi, 2 * mebi}}};
  for (const auto& [bytes, alignment] : cases) {
    const Buffer buffer(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % alignment, 0U);
    const auto* data = static_cast<const char*>(buffer.data());
    EXPECT_TRUE(std::all_of(data, data + bytes, [](char c) { return c == 0; }));
    EXPECT_EQ(buffer.bytes(), bytes);
  }
}

TEST(Buffer, UnwrittenHasNoPagesYet) {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  const Buffer buffer = Buffer::unwritten(bytes);
  EXPECT_EQ(buffer.bytes(), bytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % (std::size_t{2} << 20), 0U);
  const auto pages = bytes / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> present(pages);
  ASSERT_EQ(::mincore(buffer.data(), bytes, present.data()), 0);
  EXPECT_LT(std::ranges::count_if(present, [](unsigned char page) { return (page & 1) != 0; }),
            std::ssize(present) / 8);
  EXPECT_EQ(Buffer::unwritten(0).data(), nullptr);
}

// Large buffers are mapped on their own and given back. Memory that malloc reuses has small pages,
// which a disk fills more slowly, and malloc keeps freed memory once it has seen its size.
TEST(Buffer, LargeOnesAreGivenBack) {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  void* volatile teaches_malloc = std::malloc(2 * bytes);
  std::free(teaches_malloc);
  Buffer first(bytes);
  Buffer second(std::move(first));
  Buffer third(64);  // small: memory from malloc
  third = std::move(second);
  void* const freed = third.data();
  EXPECT_EQ(third.bytes(), bytes);
  third = Buffer();
  unsigned char present = 0;
  errno = 0;
  EXPECT_NE(::mincore(freed, 1, &present), 0);
  EXPECT_EQ(errno, ENOMEM) << "not mapped";
}

TEST(Buffer, EmptyHasNoMemory) {
  EXPECT_EQ(Buffer().data(), nullptr);
  EXPECT_EQ(Buffer(0).data(), nullptr);
}

TEST(Buffer, MoveHandsTheMemoryOver) {
  Buffer first(64);
  void* memory = first.data();
  Buffer second(std::move(first));
  EXPECT_EQ(second.data(), memory);
  Buffer third;
  third = std::move(second);
  EXPECT_EQ(third.data(), memory);
  EXPECT_EQ(third.bytes(), 64U);
}

TEST(Buffer, ViewMustFit) {
  const Buffer buffer(64);
  EXPECT_EQ(buffer.tensor(DType::f32, {4, 4}).data(), buffer.data());
  EXPECT_THROW(buffer.tensor(DType::f32, {17}), Error);
}

TEST(Device, MemoryNeedsADevice) {
  if (device_count() > 0) GTEST_SKIP() << "there is a device";
  EXPECT_THROW(Stream(MemorySpace::device), Error);
  EXPECT_THROW(Buffer(64, MemorySpace::device), Error);
}

TEST(Device, PinnedMemoryIsMemoryWhereThereIsNone) {
  const Buffer buffer = Buffer::pinned(5000);
  EXPECT_EQ(buffer.space(), MemorySpace::host);
  EXPECT_EQ(buffer.bytes(), 5000U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 4096, 0U);
  EXPECT_EQ(static_cast<const char*>(buffer.data())[4999], 0);
  EXPECT_EQ(Buffer::pinned(0).data(), nullptr);
}

TEST(Copy, MovesBytesBetweenShapesOfOneCount) {
  std::vector<float> from = {1, 2, 3, 4, 5, 6};
  std::vector<float> to(6);
  copy(Stream(), Tensor(to.data(), {3, 2}), Tensor(from.data(), {6}));
  EXPECT_EQ(to, from);
  const Tensor self(from.data(), {6});
  copy(Stream(), self.slice(0, 1, 5), self.slice(0, 0, 5));
  EXPECT_EQ(from, (std::vector<float>{1, 1, 2, 3, 4, 5})) << "overlap is allowed";
}

TEST(Copy, RefusesWhatDiffersOrHasGaps) {
  std::vector<float> a(6);
  std::vector<std::int32_t> b(6);
  const Tensor matrix(a.data(), {3, 2});
  EXPECT_THROW(copy(Stream(), matrix, Tensor(b.data(), {3, 2})), Error);
  EXPECT_THROW(copy(Stream(), matrix, matrix.slice(0, 0, 2)), Error);
  EXPECT_THROW(copy(Stream(), matrix.slice(1, 0, 1), Tensor(a.data(), {3})), Error);
}

TEST(FillZero, ClearsContiguousTensorsOnly) {
  std::vector<float> a(6, 1.0F);
  const Tensor matrix(a.data(), {3, 2});
  fill_zero(Stream(), matrix.slice(0, 1, 1));
  EXPECT_EQ(a, (std::vector<float>{1, 1, 0, 0, 1, 1}));
  EXPECT_THROW(fill_zero(Stream(), matrix.slice(1, 0, 1)), Error);
}

TEST(Stream, HostWorkIsDoneWhenTheCallReturns) {
  const Stream stream;
  Event event;
  event.record(stream);
  EXPECT_TRUE(event.done());
  EXPECT_NO_THROW(event.synchronize());
  EXPECT_NO_THROW(stream.wait(event));
  EXPECT_EQ(stream.space(), MemorySpace::host);
}

}  // namespace
}  // namespace triax
