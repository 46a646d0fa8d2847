// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/run_report.hpp"

#include "tests/support/matchers.hpp"
#include "tests/trainer/report/sharded_config.hpp"

namespace triax::test {
namespace {

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

}  // namespace
}  // namespace triax::test
