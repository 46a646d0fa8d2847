// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/device/arena.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace triax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Takes memory as a layer might; returns the last view.
Tensor carve(Arena& arena) {
  arena.take("hidden", DType::f32, {3, 5});
  const ArenaScope scope(arena);
  arena.take("probabilities", DType::f32, {100});
  return arena.take("hidden", DType::u8, {1});
}

TEST(Arena, ViewsAreAlignedApartAndInside) {
  const Buffer memory(1024);
  Arena arena(memory);
  const Tensor a = arena.take("a", DType::f32, {3});
  const Tensor b = arena.take("b", DType::f64, {2, 2});
  EXPECT_EQ(a.data(), memory.data());
  EXPECT_EQ(static_cast<char*>(b.data()) - static_cast<char*>(a.data()), 64);
  EXPECT_EQ(b.shape(), Shape({2, 2}));
  EXPECT_EQ(b.dtype(), DType::f64);
  EXPECT_EQ(arena.used(), 128U);
}

TEST(Arena, FullIsAnErrorThatNamesTheView) {
  const Buffer memory(128);
  Arena arena(memory);
  arena.take("first", DType::u8, {128});
  try {
    arena.take("second", DType::u8, {1});
    FAIL() << "the arena is full";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("second"));
  }
}

TEST(Arena, RewindGivesBack) {
  const Buffer memory(128);
  Arena arena(memory);
  const auto mark = arena.mark();
  const Tensor first = arena.take("x", DType::u8, {100});
  arena.rewind(mark);
  EXPECT_EQ(arena.take("x", DType::u8, {100}).data(), first.data());
  EXPECT_EQ(arena.high_water(), 128U);
}

TEST(Arena, MeasuringTakesTheSameAsCarving) {
  Arena measure;
  EXPECT_TRUE(measure.measuring());
  EXPECT_EQ(carve(measure).data(), nullptr);
  const Buffer memory(measure.high_water());
  Arena arena(memory);
  EXPECT_FALSE(arena.measuring());
  EXPECT_NE(carve(arena).data(), nullptr);
  EXPECT_EQ(arena.high_water(), measure.high_water());
  EXPECT_EQ(arena.high_water(), arena.capacity());
  EXPECT_EQ(arena.used(), 64U) << "the scope rewinds";
}

// An arena without any memory is an error, like one that lacks a byte.
TEST(Arena, WithoutAByteOfMemoryIsFull) {
  const Buffer none(0);
  Arena arena(none);
  EXPECT_FALSE(arena.measuring());
  EXPECT_THROW(arena.take("x", DType::f32, {1}), Error);
}

}  // namespace
}  // namespace triax
