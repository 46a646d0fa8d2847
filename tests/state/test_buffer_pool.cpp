// SPDX-License-Identifier: Apache-2.0
#include "src/state/buffer_pool.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <set>

namespace triax {
namespace {

using testing::HasSubstr;

TEST(BufferPool, BuffersAreApartAndAligned) {
  BufferPool pool("frames", 100, 3);
  EXPECT_EQ(pool.bytes(), 3 * 256);
  std::set<std::uintptr_t> addresses;
  for (int i = 0; i < 3; ++i) {
    const Tensor buffer = pool.at(pool.acquire());
    EXPECT_EQ(buffer.bytes(), 100);
    const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
    EXPECT_EQ(address % 64, 0U);
    for (const std::uintptr_t other : addresses)
      EXPECT_GE(std::max(address, other) - std::min(address, other), 256U);
    addresses.insert(address);
  }
  EXPECT_EQ(addresses.size(), 3U);
}

TEST(BufferPool, GivesWhatCameBackLast) {
  BufferPool pool("frames", 64, 2);
  const int first = pool.acquire();
  const int second = pool.acquire();
  EXPECT_NE(first, second);
  pool.release(first);
  EXPECT_EQ(pool.acquire(), first);
}

TEST(BufferPool, OneTooManyIsAnInternalError) {
  BufferPool pool("activations", 64, 1);
  pool.acquire();
  try {
    pool.acquire();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("activations"));
  }
}

TEST(BufferPool, MayBeEmpty) {
  BufferPool pool("frames", 0, 0);
  EXPECT_EQ(pool.bytes(), 0);
  EXPECT_THROW(pool.acquire(), Error);
}

}  // namespace
}  // namespace triax
