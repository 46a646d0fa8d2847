// SPDX-License-Identifier: Apache-2.0
#include "src/machine/presets.hpp"

#include <gmock/gmock.h>

namespace triax {
namespace {

TEST(Presets, AreFoundByTheirNames) {
  EXPECT_THAT(preset_names(), testing::ElementsAre("h100", "h200", "a100", "v100", "cpu"));
  for (const std::string& name : preset_names()) {
    const auto machine = preset(name);
    ASSERT_TRUE(machine);
    EXPECT_EQ(machine->name, name);
    EXPECT_GT(machine->inside.bandwidth, machine->between.bandwidth) << name;
  }
  EXPECT_FALSE(preset("H100x"));
}

TEST(Presets, OldGpusHaveNoBf16) {
  EXPECT_EQ(preset("v100")->flops(DType::bf16, false), 0.0);
  EXPECT_GT(preset("v100")->flops(DType::f16, false), 0.0);
  EXPECT_EQ(preset("a100")->flops(DType::bf16, true), 0.0);
}

}  // namespace
}  // namespace triax
