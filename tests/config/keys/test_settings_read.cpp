// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/config/job_files.hpp"

namespace triax {
namespace {
using testing::HasSubstr;

class ReadSettings : public testing_support::JobFiles {};

TEST_F(ReadSettings, ParametersOfAWrongTypeAreJudged) {
  EXPECT_EQ(
      error(R"(, "optimizer": {"type": "Frob", "params": {"lrr": 1, "lr": -1, "eps": 1e-8}})"),
      "job.json:3: optimizer.type: \"Frob\" is not allowed (allowed: \"AdamW\", \"Adam\", "
      "\"AdamW8bit\", \"Adan\", \"Lion\", \"Muon\", \"SGD\", \"Adagrad\")\n"
      "job.json:3: optimizer.params.lr: -1 is not allowed (allowed: >= 0, or \"auto\")\n"
      "job.json:3: optimizer.params.lrr: unknown key (nearest: optimizer.params.lr)");
  const auto text = error(R"(, "scheduler": {"type": "Warmup", "params": {"warmup_num_step": 3,
      "warmup_max_lr": "high", "total_num_steps": 0, "cycle_max_lr": 1, "min_lr": null}})");
  EXPECT_THAT(text, HasSubstr("scheduler.type: \"Warmup\" is not allowed"));
  EXPECT_THAT(text, HasSubstr("warmup_num_step: unknown key (nearest: "
                              "scheduler.params.warmup_num_steps)"));
  EXPECT_THAT(text, HasSubstr("warmup_max_lr: expected number or \"auto\", got \"high\""));
  EXPECT_THAT(text, HasSubstr("total_num_steps: 0 is not allowed"));
  EXPECT_THAT(text, testing::Not(HasSubstr("cycle_max_lr")));
}

TEST_F(ReadSettings, AKeyThatMergingLeftUnderAnotherTypeHasAWayOut) {
  const std::string base = R"(, "scheduler": {"type": "WarmupLR",
      "params": {"warmup_num_steps": 3}})";
  const auto with = [&](const std::string& params) {
    return error(base, 1, {R"(scheduler={"type":"cosine","params":{"warmup":2)" + params + "}}"});
  };
  EXPECT_EQ(with(""),
            "job.json:4: scheduler.params.warmup_num_steps: a key of WarmupLR, WarmupDecayLR, "
            "WarmupCosineLR, not of scheduler.type \"cosine\", which --set sets. Objects are "
            "merged key by key: set this key to null there to remove it");
  EXPECT_EQ(with(R"(,"warmup_num_steps":null)"), "");
  EXPECT_THAT(error(R"(, "scheduler": {"type": "cosine", "params": {"warmup_num_steps": 3}})"),
              testing::EndsWith("not of scheduler.type \"cosine\""))
      << "nothing was merged";
}

}  // namespace
}  // namespace triax
