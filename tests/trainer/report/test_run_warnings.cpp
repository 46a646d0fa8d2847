// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/run_warnings.hpp"

#include "tests/io/token_fixtures.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/scheduler.hpp"
#include "tests/trainer/report/sharded_config.hpp"

namespace triax::test {
namespace {

TEST(WarningOfCpu, IsForWhoMayHaveMeantAGpu) {
  PlacedConfig config;
  EXPECT_THAT(warning_of_cpu(config, true), HasSubstr("no rank finds a GPU"));
  EXPECT_EQ(warning_of_cpu(config, false), "") << "of the build";
  config.run.space = MemorySpace::host;
  EXPECT_EQ(warning_of_cpu(config, true), "") << "asked for";
  config.run.space.reset();
  config.place.space = MemorySpace::device;
  EXPECT_EQ(warning_of_cpu(config, true), "") << "it has one";
}

TEST(ConfigWarnings, SixteenBitSumsOfManyMicroBatches) {
  PlacedConfig config;
  config.precision.type = config.precision.gradient_type = DType::bf16;
  EXPECT_THAT(config_warnings(config), IsEmpty());
  config.batch.accumulation = 4;
  EXPECT_THAT(config_warnings(config),
              ElementsAre(AllOf(HasSubstr("gradients of 4 micro-batches are summed in bf16"),
                                HasSubstr("data_types.grad_accum_dtype to fp32"))));
  config.precision.gradient_type = DType::f32;
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(ConfigWarnings, ValidationDataThatAreNeverRead) {
  PlacedConfig config;
  config.data.valid = {"held.bin"};
  EXPECT_THAT(config_warnings(config), ElementsAre(HasSubstr("run.eval_interval is 0")));
  config.run.eval_interval = 5;
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(ConfigWarnings, ALimitThatNothingStopsBefore) {
  PlacedConfig config;
  config.run.time_limit = 600.0;
  EXPECT_THAT(config_warnings(config), ElementsAre(HasSubstr("run.stop_before_end is 0")));
  config.run.stop_before_end = 60.0;
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(ConfigWarnings, AStopAtASpikeThatLeavesNothing) {
  PlacedConfig config;
  config.run.loss_spike.action = SpikeAction::stop;
  EXPECT_THAT(config_warnings(config), ElementsAre(HasSubstr("checkpoint.interval is 0")));
  config.checkpoint.interval = 5;
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(ConfigWarnings, StripesOfAPathThatMpiIoDoesNotTake) {
  PlacedConfig config;
  config.checkpoint.directory = "/scratch/12:30/run";
  EXPECT_THAT(config_warnings(config), IsEmpty());
  for (const bool factor : {true, false}) {
    config.checkpoint.striping_factor = factor ? 8 : 0;
    config.checkpoint.striping_unit = factor ? 0 : 1 << 20;
    EXPECT_THAT(config_warnings(config),
                ElementsAre(AllOf(HasSubstr("checkpoint.striping_factor and striping_unit are not "
                                            "applied"),
                                  HasSubstr("/scratch/12:30/run"))));
  }
  config.checkpoint.directory = "/scratch/run";
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(ConfigWarnings, SchedulesThatDoNotFitTheRun) {
  PlacedConfig config;
  config.run.steps = 10;
  config.scheduler = scheduler("WarmupLR", {{"warmup_max_lr", 1e-3}});
  EXPECT_THAT(config_warnings(config), ElementsAre(HasSubstr("warmup_num_steps 1000 takes all")));
}

TEST(WarningOfBytes, IsOfTextAndALargerVocabulary) {
  const TempDirectory directory;
  const TokenReader text({directory.file("a.txt", "some text")}, 4, false, 0);
  const TokenReader lines({directory.file("a.jsonl", "{\"text\": \"some text\"}\n")}, 4, false, 0);
  const TokenReader tokens({directory.file("a.bin", llmc_shard({1, 2, 3, 4, 5, 6}))}, 4, false, 0);
  Config config;
  config.model.vocabulary = 50257;
  for (const TokenReader* data : {&text, &lines})
    EXPECT_THAT(warning_of_bytes(config, *data),
                AllOf(HasSubstr("read as bytes, but the model has 50257 tokens"),
                      HasSubstr("tokens from 256 on never occur")));
  EXPECT_EQ(warning_of_bytes(config, tokens), "");
  config.model.vocabulary = 256;
  EXPECT_EQ(warning_of_bytes(config, text), "");
}

TEST(ConfigWarnings, HpzCutsMoreThanInZeroPlusPlus) {
  PlacedConfig config = over(8, 3, 2);
  EXPECT_THAT(config_warnings(config), IsEmpty());
  config.zero.shard_by_hpz = true;
  EXPECT_THAT(config_warnings(config),
              ElementsAre(AllOf(HasSubstr("sharded over 2 data ranks, in 4 copies"),
                                HasSubstr("ZeRO++ would do so for the parameters"))));
  config.zero.shard_size = 8;
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(ConfigWarnings, GroupsOfOneCutNothing) {
  PlacedConfig config = over(8, 3, 1);
  EXPECT_THAT(config_warnings(config), ElementsAre(HasSubstr("ZeRO-3 shards nothing")));
  config.zero.stage = 0;
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(ConfigWarnings, InputsOnTheHostNeedRecomputedLayers) {
  PlacedConfig config;
  config.recompute.inputs_on_host = true;
  EXPECT_THAT(config_warnings(config), ElementsAre(HasSubstr("cpu_checkpointing has nothing")));
  config.recompute.what = Recompute::layer;
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(ConfigWarnings, PartitionedInputsNeedRecomputedLayers) {
  PlacedConfig config;
  config.recompute.partition_inputs = true;
  EXPECT_THAT(config_warnings(config), ElementsAre(HasSubstr("partition_activations has nothing")));
  config.recompute.what = Recompute::layer;
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

}  // namespace
}  // namespace triax::test
