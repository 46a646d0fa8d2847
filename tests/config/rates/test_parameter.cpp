// SPDX-License-Identifier: Apache-2.0
#include "src/config/rates/parameter.hpp"

#include <gmock/gmock.h>

#include "tests/config/job_files.hpp"

namespace triax {
namespace {

class RateParameters : public testing_support::JobFiles {};

TEST_F(RateParameters, OfOneMeaningShareARowOfTheReference) {
  const KeyTable table;
  EXPECT_EQ(table.rows("scheduler.params.warmup_num_steps").size(), 1U);
  EXPECT_EQ(table.find("scheduler.params.warmup_num_steps")->scope,
            (std::vector<std::string>{"WarmupLR", "WarmupDecayLR", "WarmupCosineLR"}));
  EXPECT_EQ(table.rows("scheduler.params.num_warmup_steps").size(), 1U);
  EXPECT_EQ(table.rows("scheduler.params.num_cycles").size(), 2U) << "waves, or falls";
  EXPECT_EQ(table.find("scheduler.params.num_cycles", "cosine_with_restarts")->default_value, 1);
  EXPECT_EQ(table.find("scheduler.params.num_cycles", "warmup_stable_decay")->default_value, 0.5);
  EXPECT_EQ(table.find("scheduler.params.num_cycles", "linear"), nullptr);
}

TEST_F(RateParameters, ChecksAreSkippedWhereAValueIsWrong) {
  const auto text = error(R"(, "scheduler": {"type": "WarmupLR", "params":
      {"warmup_min_lr": -1, "warmup_max_lr": -2}})");
  EXPECT_THAT(text, testing::HasSubstr("warmup_min_lr: -1 is not allowed"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("is more than")));
}

}  // namespace
}  // namespace triax
