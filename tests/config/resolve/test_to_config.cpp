// SPDX-License-Identifier: Apache-2.0
// The last step of resolve: a Config from the settings of a job.
#include <gtest/gtest.h>

#include "src/config/keys/key_table.hpp"
#include "tests/config/job_files.hpp"
#include "tests/config/same_config.hpp"

namespace triax {
namespace {
using testing_support::same;

class ToConfig : public testing_support::JobFiles {};

// Defaults stand twice: in the key table for jobs, and in Config for code that makes its own.
TEST_F(ToConfig, DefaultsOfTheKeysAreThoseOfConfig) {
  const Config job = config("");
  Config made;
  made.data.train = job.data.train;
  made.data.sequence_length = job.model.positions;                 // auto
  made.checkpoint.directory = job.run.directory + "/checkpoints";  // auto
  made.precision.loss_scale.steps = job.run.steps;
  EXPECT_TRUE(same(job.data, made.data));
  EXPECT_TRUE(same(job.parallel, made.parallel));
  EXPECT_TRUE(same(job.run, made.run));
  EXPECT_TRUE(same(job.checkpoint, made.checkpoint));
  EXPECT_TRUE(same(job.batch, made.batch));
  EXPECT_TRUE(same(job.optimizer, made.optimizer));
  EXPECT_TRUE(same(job.scheduler, made.scheduler));
  EXPECT_TRUE(same(job.zero, made.zero));
  EXPECT_TRUE(same(job.zero.offload_optimizer, made.zero.offload_optimizer));
  EXPECT_TRUE(same(job.zero.offload_param, made.zero.offload_param));
  EXPECT_TRUE(same(job.aio, made.aio));
  EXPECT_TRUE(same(job.precision, made.precision));
  EXPECT_TRUE(same(job.precision.loss_scale, made.precision.loss_scale));
  EXPECT_TRUE(same(job.recompute, made.recompute));
  EXPECT_EQ(job.gradient_clipping, made.gradient_clipping);
  EXPECT_EQ(job.steps_per_print, made.steps_per_print);
  EXPECT_EQ(job.dump_state, made.dump_state);
}

TEST_F(ToConfig, DefaultsOfTheSchedulersAreThoseOfConfig) {
  const SchedulerConfig made;
  const std::pair<const char*, nlohmann::json> defaults[] = {
      {"warmup_min_lr", made.warmup_min_lr},
      {"warmup_max_lr", made.warmup_max_lr},
      {"warmup_num_steps", made.warmup_num_steps},
      {"warmup_type", made.warmup_linear ? "linear" : "log"},
      {"warmup_min_ratio", made.warmup_min_ratio},
      {"cos_min_ratio", made.cos_min_ratio},
      {"decay_lr_rate", made.decay_lr_rate},
      {"cycle_first_step_size", made.cycle_first_step_size},
      {"cycle_first_stair_count", made.cycle_first_stair_count},
      {"decay_step_size", made.decay_step_size},
      {"cycle_momentum", made.cycle_momentum},
      {"cycle_min_mom", made.cycle_min_mom},
      {"cycle_max_mom", made.cycle_max_mom},
      {"decay_mom_rate", made.decay_mom_rate},
      {"warmup", made.warmup},
      {"min_lr", made.min_lr}};
  const KeyTable table;
  for (const auto& [name, value] : defaults) {
    int compared = 0;
    for (const Key* row : table.rows(std::string("scheduler.params.") + name)) {
      if (row->default_value == "auto") continue;
      EXPECT_EQ(row->default_value, value) << name;
      ++compared;
    }
    EXPECT_GE(compared, 1) << name;
  }
}

TEST_F(ToConfig, NamesOfSchedulersAndSpikeActionsAreThoseOfTheKeys) {
  const auto choices = [](const char* key) { return KeyTable().find(key)->allowed.choices; };
  for (const std::string& name : choices("scheduler.type")) {
    const std::string params =
        name == "OneCycle" ? R"(, "params": {"cycle_min_lr": 0.1, "cycle_max_lr": 0.2})" : "";
    const Config job = config(R"(, "scheduler": {"type": ")" + name + '"' + params + '}');
    EXPECT_EQ(scheduler_names[static_cast<std::size_t>(job.scheduler.kind)], name);
  }
  for (const std::string& name : choices("run.loss_spike.action")) {
    const Config job = config(R"(, "run": {"loss_spike": {"action": ")" + name +
                              R"("}}, "checkpoint": {"interval": 5})");
    EXPECT_EQ(spike_action_names[static_cast<std::size_t>(job.run.loss_spike.action)], name);
  }
}

}  // namespace
}  // namespace triax
