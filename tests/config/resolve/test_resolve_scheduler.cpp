// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/config/job_files.hpp"

namespace triax {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using Numbers = std::map<std::string, double>;

class ResolveScheduler : public testing_support::JobFiles {
 protected:
  SchedulerConfig scheduler(const std::string& type, const std::string& params) {
    return config(
               R"(, "optimizer": {"params": {"lr": 0.5}}, "run": {"steps": 77}, "scheduler": {"type": ")" +
               type + R"(", "params": {)" + params + "}}")
        .scheduler;
  }
  // The error of a job with 100 steps.
  std::string bad(const std::string& type, const std::string& params) {
    return error(R"(, "run": {"steps": 100}, "scheduler": {"type": ")" + type +
                 R"(", "params": {)" + params + "}}");
  }
};

TEST_F(ResolveScheduler, AbsentIsConstant) {
  EXPECT_EQ(config("").scheduler, SchedulerConfig());
  EXPECT_EQ(scheduler("constant", ""), SchedulerConfig());
}

TEST_F(ResolveScheduler, DeepSpeedsWarmUps) {
  const auto warmup = scheduler("WarmupLR", "");
  EXPECT_EQ(warmup.type, "WarmupLR");
  EXPECT_EQ(warmup.numbers,
            (Numbers{{"warmup_min_lr", 0.0}, {"warmup_max_lr", 0.5}, {"warmup_num_steps", 1000}}))
      << "warmup_max_lr is the optimizer's";
  EXPECT_EQ(warmup.words.at("warmup_type"), "log");
  const auto decay =
      scheduler("WarmupDecayLR",
                R"("warmup_type": "linear", "warmup_num_steps": "auto", "warmup_min_lr": "auto")");
  EXPECT_EQ(decay.type, "WarmupDecayLR");
  EXPECT_EQ(decay.numbers, (Numbers{{"warmup_min_lr", 0.0},
                                    {"warmup_max_lr", 1e-3},
                                    {"warmup_num_steps", 0},
                                    {"total_num_steps", 77}}))
      << "total_num_steps is run.steps";
  EXPECT_EQ(decay.words.at("warmup_type"), "linear");
  EXPECT_EQ(scheduler("WarmupDecayLR", R"("warmup_max_lr": "auto")").numbers.at("warmup_max_lr"),
            0.5);
  const auto cosine = scheduler(
      "WarmupCosineLR", R"("total_num_steps": 20, "warmup_min_ratio": 0.1, "cos_min_ratio": 0.2)");
  EXPECT_EQ(cosine.numbers, (Numbers{{"warmup_num_steps", 1000},
                                     {"total_num_steps", 20},
                                     {"warmup_min_ratio", 0.1},
                                     {"cos_min_ratio", 0.2}}));
}

TEST_F(ResolveScheduler, OneCycleAndCosine) {
  const auto cycle = scheduler(
      "OneCycle",
      R"("cycle_min_lr": 0.1, "cycle_max_lr": 0.9, "cycle_first_step_size": 30, "cycle_first_stair_count": 3, "cycle_momentum": false)");
  EXPECT_EQ(cycle.numbers.at("cycle_second_step_size"), 30);
  EXPECT_EQ(cycle.numbers.at("cycle_second_stair_count"), 3);
  EXPECT_EQ(cycle.numbers.at("cycle_momentum"), 0);
  EXPECT_EQ(scheduler("cosine", R"("warmup": "auto", "min_lr": "auto")").numbers,
            (Numbers{{"warmup", 0}, {"min_lr", 0}}));
  EXPECT_EQ(scheduler("cosine", R"("warmup": 4, "min_lr": 0.01)").numbers,
            (Numbers{{"warmup", 4}, {"min_lr", 0.01}}));
}

TEST_F(ResolveScheduler, HuggingFacesNames) {
  const auto stable =
      scheduler("warmup_stable_decay", R"("num_decay_steps": 9, "num_warmup_steps": "auto")");
  EXPECT_EQ(stable.numbers, (Numbers{{"num_warmup_steps", 0},
                                     {"num_decay_steps", 9},
                                     {"min_lr_ratio", 0},
                                     {"num_cycles", 0.5}}))
      << "num_stable_steps is what is left";
  EXPECT_EQ(stable.words, (std::map<std::string, std::string>{{"warmup_type", "linear"},
                                                              {"decay_type", "cosine"}}));
  EXPECT_EQ(scheduler("polynomial", "").numbers,
            (Numbers{{"num_warmup_steps", 0}, {"lr_end", 1e-7}, {"power", 1}}));
  EXPECT_EQ(scheduler("inverse_sqrt", R"("num_warmup_steps": 5)").numbers,
            (Numbers{{"num_warmup_steps", 5}}));
  EXPECT_EQ(scheduler("cosine_with_restarts", "").numbers.at("num_cycles"), 1);
  EXPECT_EQ(scheduler("cosine_with_min_lr", R"("min_lr": 0.1)").numbers,
            (Numbers{{"num_warmup_steps", 0}, {"num_cycles", 0.5}, {"min_lr", 0.1}}));
}

TEST_F(ResolveScheduler, BadSchedulersAreRefused) {
  const std::string above = " is more than scheduler.params.";
  for (const char* type : {"WarmupLR", "WarmupDecayLR"})
    EXPECT_THAT(bad(type, R"("warmup_min_lr": 0.2, "warmup_max_lr": 0.1)"),
                HasSubstr("scheduler.params.warmup_min_lr: 0.2" + above + "warmup_max_lr 0.1"));
  EXPECT_THAT(bad("OneCycle", R"("cycle_min_lr": 0.2, "cycle_max_lr": 0.1, "cycle_min_mom": 0.95)"),
              AllOf(HasSubstr("cycle_min_lr: 0.2" + above + "cycle_max_lr 0.1"),
                    HasSubstr("cycle_min_mom: 0.95" + above + "cycle_max_mom 0.9")));
  EXPECT_THAT(bad("OneCycle", R"("cycle_min_lr": 0.1)"),
              HasSubstr("scheduler.params.cycle_max_lr: missing. OneCycle needs it"));
  EXPECT_THAT(bad("WarmupLR", R"("cos_min_ratio": 0.1)"),
              HasSubstr("a key of WarmupCosineLR, not of scheduler.type \"WarmupLR\""));
  EXPECT_THAT(bad("reduce_lr_on_plateau", R"("factor": 1)"),
              testing::StartsWith("job.json:3: scheduler.type: \"reduce_lr_on_plateau\" is not "
                                  "built yet. Use \"constant\", \"WarmupLR\", "));
  EXPECT_THAT(error(R"(, "scheduler": {"params": {"warmup": 1}})"),
              HasSubstr("scheduler.params.warmup: unused without scheduler.type"));
}

TEST_F(ResolveScheduler, AnUnknownNameIsAnsweredWithTheListAndTheNearest) {
  EXPECT_THAT(bad("warmup_stable_deacy", ""),
              AllOf(HasSubstr("scheduler.type: \"warmup_stable_deacy\" is not allowed (allowed: "
                              "\"constant\", \"WarmupLR\", "),
                    HasSubstr("\"cosine_warmup_with_min_lr\", \"warmup_stable_decay\"; nearest: "
                              "\"warmup_stable_decay\")")));
  EXPECT_THAT(bad("Linear", ""), HasSubstr("nearest: \"linear\")"));
  EXPECT_THAT(bad("sawtooth", ""), testing::Not(HasSubstr("nearest")));
}

TEST_F(ResolveScheduler, BadParametersAreRefusedByKey) {
  EXPECT_THAT(bad("warmup_stable_decay", ""),
              HasSubstr("scheduler.params.num_decay_steps: missing. warmup_stable_decay needs it"));
  EXPECT_THAT(bad("warmup_stable_decay", R"("num_decay_step": 5)"),
              HasSubstr("scheduler.params.num_decay_step: unknown key (nearest: "
                        "scheduler.params.num_decay_steps)"));
  EXPECT_THAT(
      bad("warmup_stable_decay", R"("num_decay_steps": 5, "decay_type": "sqrt")"),
      HasSubstr("scheduler.params.decay_type: \"sqrt\" is not allowed (allowed: \"linear\", "));
  EXPECT_THAT(bad("warmup_stable_decay", R"("num_decay_steps": -1)"),
              HasSubstr("scheduler.params.num_decay_steps: -1 is not allowed"));
  EXPECT_THAT(bad("warmup_stable_decay", R"("num_decay_steps": 5, "min_lr_ratio": 2)"),
              HasSubstr("scheduler.params.min_lr_ratio: 2 is not allowed (allowed: 0 <= x <= 1)"));
  EXPECT_THAT(bad("cosine_with_restarts", R"("num_cycles": 0.5)"),
              HasSubstr("scheduler.params.num_cycles: expected integer, got 0.5"));
  EXPECT_THAT(bad("cosine_with_restarts", R"("num_cycles": 0)"),
              HasSubstr("scheduler.params.num_cycles: 0 is not allowed (allowed: >= 1)"));
  EXPECT_THAT(bad("inverse_sqrt", R"("timescale": 0)"),
              HasSubstr("scheduler.params.timescale: 0 is not allowed (allowed: >= 1)"));
  EXPECT_THAT(bad("linear", R"("power": 2)"),
              HasSubstr("scheduler.params.power: a key of polynomial, not of scheduler.type"));
  EXPECT_THAT(bad("polynomial", R"("lr_end": 0.5)"),
              HasSubstr("scheduler.params.lr_end: 0.5 is more than optimizer.params.lr 0.001, from "
                        "which the polynomial falls to it"));
}

TEST_F(ResolveScheduler, ACosineHasOneLeastRate) {
  for (const char* type : {"cosine_with_min_lr", "cosine_warmup_with_min_lr"}) {
    EXPECT_EQ(bad(type, R"("min_lr": 1e-4)"), "");
    EXPECT_EQ(bad(type, R"("min_lr_rate": 0.1)"), "");
    EXPECT_THAT(bad(type, ""),
                HasSubstr("scheduler.params.min_lr: missing. Set it or min_lr_rate"));
    EXPECT_THAT(bad(type, R"("min_lr": 1e-4, "min_lr_rate": 0.1)"),
                HasSubstr("scheduler.params.min_lr_rate: says the same as min_lr"));
    EXPECT_THAT(bad(type, R"("min_lr": 1)"), HasSubstr("min_lr: 1 is more than optimizer.params"));
  }
}

TEST_F(ResolveScheduler, ADecayFitsIntoTheRun) {
  const std::string type = "warmup_stable_decay";
  EXPECT_EQ(bad(type, R"("num_warmup_steps": 30, "num_decay_steps": 70)"), "");
  EXPECT_THAT(
      bad(type, R"("num_warmup_steps": 31, "num_decay_steps": 70)"),
      HasSubstr("scheduler.params.num_decay_steps: 70 and num_warmup_steps 31 are more than "
                "run.steps 100. Lower one of them, or raise run.steps"));
  EXPECT_EQ(bad(type, R"("num_warmup_steps": 31, "num_stable_steps": 0, "num_decay_steps": 70)"),
            "")
      << "the job says all lengths";
}

TEST_F(ResolveScheduler, ACosineDoesNotRise) {
  const auto with = [&](const std::string& least) {
    return error(R"(, "optimizer": {"params": {"lr": 1e-3}},
      "scheduler": {"type": "cosine", "params": {"min_lr": )" +
                 least + "}}");
  };
  EXPECT_EQ(with("1e-3"), "");
  EXPECT_THAT(with("0.01"), AllOf(HasSubstr("scheduler.params.min_lr: 0.01 is more than "
                                            "optimizer.params.lr 0.001"),
                                  HasSubstr("Lower one or raise the other")));
}

// 0.9 (1 + 0.01 i) is 1 from i = 11.1 on: step 20 + 10 + 5 x 11.1.
TEST_F(ResolveScheduler, MomentsStayBelowOne) {
  const auto with = [&](const std::string& more, int steps) {
    return error(fmt::format(R"(, "run": {{"steps": {}}}, "scheduler": {{"type": "OneCycle",
      "params": {{"cycle_min_lr": 1e-4, "cycle_max_lr": 1e-3, "cycle_first_step_size": 20,
                  "cycle_second_step_size": 10, "decay_step_size": 5, {}}}}})",
                             steps, more));
  };
  const std::string decay = R"("decay_mom_rate": 0.01)";
  EXPECT_EQ(with(decay, 86), "");
  EXPECT_THAT(
      with(decay, 87),
      HasSubstr(
          "scheduler.params.decay_mom_rate: 0.01 raises beta1 to 1 at step 87 of run.steps 87"));
  EXPECT_EQ(with(R"("cycle_momentum": false, )" + decay, 1000), "");
  EXPECT_EQ(with(R"("cycle_max_mom": 0.0, "cycle_min_mom": 0.0, )" + decay, 1000), "");
}

}  // namespace
}  // namespace triax
