// SPDX-License-Identifier: Apache-2.0
#include "src/planner/parameter_bytes.hpp"

#include <gtest/gtest.h>

#include "tests/support/training.hpp"

namespace triax::test {
namespace {

double state_of(const char* optimizer, const char* type) {
  auto job = golden_job(read_golden("gpt2-tiny"), {.micro = 1, .type = type});
  job["optimizer"] = {{"type", optimizer}, {"params", {{"lr", 1e-3}}}};
  return parameter_bytes(load(job, 1).config).state;
}

TEST(ParameterBytes, AreThoseOfTheOptimizer) {
  EXPECT_EQ(state_of("AdamW", "f32"), 8.0);
  EXPECT_EQ(state_of("AdamW", "bf16"), 12.0);  // and the master weights
  EXPECT_EQ(state_of("Lion", "f32"), 4.0);
  EXPECT_EQ(state_of("Muon", "f32"), 4.0);  // of matrices
  EXPECT_NEAR(state_of("AdamW8bit", "f32"), 2.0, 0.05);
}

}  // namespace
}  // namespace triax::test
