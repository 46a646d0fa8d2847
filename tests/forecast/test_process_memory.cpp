// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/process_memory.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include "kernels/base/device/device.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

TEST(ResidentBytes, FollowWhatIsTouched) {
  malloc_trim(0);  // memory freed by earlier tests would be reused
  const std::int64_t before = resident_bytes();
  EXPECT_GT(before, mib);
  constexpr std::int64_t size = 200 * mib;
  {
    const Buffer buffer(size);
    EXPECT_NEAR(static_cast<double>(resident_bytes() - before), size, 0.05 * size);
  }
  EXPECT_GE(peak_resident_bytes(), before + size * 95 / 100);
}

}  // namespace
}  // namespace triax::test
