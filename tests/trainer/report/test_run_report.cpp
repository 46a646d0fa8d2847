// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/run_report.hpp"

#include "tests/io/token_fixtures.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/scheduler.hpp"

namespace triax::test {
namespace {

PlacedConfig over(int data_ranks, int stage, int shard_size) {
  PlacedConfig config;
  config.parallel.data = data_ranks;
  config.zero.stage = stage;
  config.zero.shard_size = shard_size;
  return config;
}

TEST(ShardingText, SaysTheStageInEffect) {
  const std::string none = "; offload_optimizer none, offload_param none";
  EXPECT_EQ(sharding_text(over(4, 0, 0)), "ZeRO-0: each of 4 data rank(s) keeps all state" + none);
  EXPECT_EQ(sharding_text(over(8, 2, 4)),
            "ZeRO-2: state is sharded over 4 data rank(s), in 2 group(s)" + none);
  EXPECT_EQ(sharding_text(over(8, 3, 0)),
            "ZeRO-3: state is sharded over 8 data rank(s), in 1 group(s)" + none);
  for (const auto& [ranks, size] : {std::pair{1, 0}, std::pair{4, 1}})
    EXPECT_THAT(sharding_text(over(ranks, 2, size)), HasSubstr("ZeRO-0, not ZeRO-2"));
  PlacedConfig alone = over(1, 3, 0);
  alone.zero.offload_param.device = OffloadDevice::nvme;
  EXPECT_THAT(sharding_text(alone), HasSubstr("offloaded parameters are gathered"));
  PlacedConfig config = over(2, 3, 0);
  config.zero.offload_optimizer.device = OffloadDevice::nvme;
  config.zero.offload_param.device = OffloadDevice::cpu;
  EXPECT_THAT(sharding_text(config), HasSubstr("; offload_optimizer nvme, offload_param cpu"));
}

TEST(PrecisionText, SaysTheTypeOfTheGradientsToo) {
  EXPECT_THAT(precision_text({}), HasSubstr("fp32: parameters, gradients"));
  PrecisionConfig precision;
  precision.type = DType::bf16;
  EXPECT_THAT(precision_text(precision),
              AllOf(HasSubstr("bf16: parameters"), HasSubstr("summed between ranks, in fp32")));
  precision.type = precision.gradient_type = DType::f16;
  EXPECT_THAT(precision_text(precision),
              AllOf(HasSubstr("fp16: parameters"), HasSubstr("summed between ranks, in fp16")));
}

TEST(TrainedText, SaysHowManyAndWhich) {
  EXPECT_EQ(trained_text({}, {.trained = 5, .all = 5}), "");
  const TrainedParameters count{.trained = 1'200'000, .all = 124'440'000};
  EXPECT_EQ(trained_text({.freeze = {"model.embed_tokens", "*.bias"}}, count),
            "1.20M of 124.44M parameters trained; frozen: model.embed_tokens, *.bias");
  EXPECT_EQ(trained_text({.train_only = {"lm_head"}}, count),
            "1.20M of 124.44M parameters trained; only: lm_head");
}

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

TEST(UsedByKind, WhatIsLeftOfThePeakIsMpis) {
  KindBytes allocated;
  allocated.parameters = 30 << 20;
  allocated.buffers = 20 << 20;
  allocated.communication = 7;  // planned, not counted
  const KindBytes used = used_by_kind(allocated, 60 << 20);
  EXPECT_EQ(used.communication, 10 << 20);
  EXPECT_EQ(used_text(used, 60 << 20),
            "60.0 MiB: parameters 30.0, buffers 20.0, communication 10.0");
  const KindBytes less = used_by_kind(allocated, 45 << 20);
  EXPECT_EQ(less.communication, 0);
  EXPECT_EQ(used_text(less, 45 << 20),
            "50.0 MiB: parameters 30.0, buffers 20.0; 5.0 MiB of it never were resident");
}

TEST(Surprises, SixteenBitSumsOfManyMicroBatches) {
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

TEST(Surprises, ValidationDataThatAreNeverRead) {
  PlacedConfig config;
  config.data.valid = {"held.bin"};
  EXPECT_THAT(config_warnings(config), ElementsAre(HasSubstr("run.eval_interval is 0")));
  config.run.eval_interval = 5;
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(Surprises, ALimitThatNothingStopsBefore) {
  PlacedConfig config;
  config.run.time_limit = 600.0;
  EXPECT_THAT(config_warnings(config), ElementsAre(HasSubstr("run.stop_before_end is 0")));
  config.run.stop_before_end = 60.0;
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(Surprises, AStopAtASpikeThatLeavesNothing) {
  PlacedConfig config;
  config.run.loss_spike.action = SpikeAction::stop;
  EXPECT_THAT(config_warnings(config), ElementsAre(HasSubstr("checkpoint.interval is 0")));
  config.checkpoint.interval = 5;
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(Surprises, StripesOfAPathThatMpiIoDoesNotTake) {
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

TEST(ValidationText, SaysHowMuchIsReadAndWhen) {
  Config config;
  config.batch.global = 64;
  config.data.valid = {"held.bin"};
  EXPECT_EQ(validation_text(config, 650), "");
  config.run.eval_interval = 50;
  EXPECT_EQ(validation_text(config, 650),
            "validation: 650 samples = 11 global batches, each 50 steps and at the end; "
            "run.eval_steps limits it");
  config.run.eval_steps = 10;
  EXPECT_EQ(validation_text(config, 640),
            "validation: 640 samples = 10 global batches, each 50 steps and at the end");
}

TEST(Surprises, SchedulesThatDoNotFitTheRun) {
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

TEST(Surprises, HpzCutsMoreThanInZeroPlusPlus) {
  PlacedConfig config = over(8, 3, 2);
  EXPECT_THAT(config_warnings(config), IsEmpty());
  config.zero.shard_by_hpz = true;
  EXPECT_THAT(config_warnings(config),
              ElementsAre(AllOf(HasSubstr("sharded over 2 data ranks, in 4 copies"),
                                HasSubstr("ZeRO++ would do so for the parameters"))));
  config.zero.shard_size = 8;
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(Surprises, GroupsOfOneCutNothing) {
  PlacedConfig config = over(8, 3, 1);
  EXPECT_THAT(config_warnings(config), ElementsAre(HasSubstr("ZeRO-3 shards nothing")));
  config.zero.stage = 0;
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(Surprises, InputsOnTheHostNeedRecomputedLayers) {
  PlacedConfig config;
  config.recompute.inputs_on_host = true;
  EXPECT_THAT(config_warnings(config), ElementsAre(HasSubstr("cpu_checkpointing has nothing")));
  config.recompute.what = Recompute::layer;
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(Surprises, PartitionedInputsNeedRecomputedLayers) {
  PlacedConfig config;
  config.recompute.partition_inputs = true;
  EXPECT_THAT(config_warnings(config), ElementsAre(HasSubstr("partition_activations has nothing")));
  config.recompute.what = Recompute::layer;
  EXPECT_THAT(config_warnings(config), IsEmpty());
}

TEST(HiddenText, SaysWhatMessagesCost) {
  EXPECT_THAT(hidden_text(Axis::data, {4.0, 3.0}, 2.0), HasSubstr("100.0% of the time"));
  EXPECT_EQ(hidden_text(Axis::data, {4.0, 0.1}, 8.0),
            "messages of the data axis: 4 s under way, 0.1 s of it spent on them: 98% hidden, 1.2% "
            "of the time lost");
  EXPECT_THAT(hidden_text(Axis::tensor, {1.0, 1.0}, 2.0),
              AllOf(HasSubstr("tensor axis"), HasSubstr(" 0% hidden, 50.0% of")));
  EXPECT_EQ(hidden_text(Axis::data, {}, 8.0), "") << "there were none";
}

}  // namespace
}  // namespace triax::test
