// SPDX-License-Identifier: Apache-2.0
#include "src/machine/machine.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

TEST(Machine, PeakIsThatOfTheType) {
  Machine machine;
  machine.f32_flops = 1.0;
  machine.bf16_flops = 2.0;
  machine.f16_flops = 3.0;
  machine.fp8_flops = 4.0;
  EXPECT_EQ(machine.flops(DType::f32, false), 1.0);
  EXPECT_EQ(machine.flops(DType::bf16, false), 2.0);
  EXPECT_EQ(machine.flops(DType::f16, false), 3.0);
  EXPECT_EQ(machine.flops(DType::bf16, true), 4.0);
}

}  // namespace
}  // namespace triax
