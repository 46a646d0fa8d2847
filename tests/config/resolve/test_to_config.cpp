// SPDX-License-Identifier: Apache-2.0
// The last step of resolve: a Config from the settings of a job.
#include <gtest/gtest.h>

#include "src/config/keys/key_table.hpp"
#include "src/state/optimizer/rules/rules.hpp"
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
  EXPECT_TRUE(same(job.optimizer, complete(made.optimizer)));
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

TEST_F(ToConfig, NamesOfSpikeActionsAreThoseOfTheKeys) {
  const KeyTable table;
  for (const std::string& name : table.find("run.loss_spike.action")->allowed.choices) {
    const Config job = config(R"(, "run": {"loss_spike": {"action": ")" + name +
                              R"("}}, "checkpoint": {"interval": 5})");
    EXPECT_EQ(spike_action_names[static_cast<std::size_t>(job.run.loss_spike.action)], name);
  }
}

}  // namespace
}  // namespace triax
