// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/splitmix.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

// The generator of Steele, Lea and Flood, started from 0. Its state grows by the constant that the
// finaliser adds, so its outputs are the finaliser's values at multiples of that constant.
TEST(Splitmix, FirstNumbersOfTheGenerator) {
  constexpr std::uint64_t growth = 0x9e3779b97f4a7c15U;
  EXPECT_EQ(splitmix64(0), 0xe220a8397b1dcdafU);
  EXPECT_EQ(splitmix64(growth), 0x6e789e6aa1b965f4U);
  EXPECT_EQ(splitmix64(2 * growth), 0x06c45d188009454fU);
}

}  // namespace
}  // namespace triax
