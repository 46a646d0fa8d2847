// SPDX-License-Identifier: Apache-2.0
// Keys of element types, as load reads them.
#include <gmock/gmock.h>

#include "src/config/load/load.hpp"
#include "tests/config/job_files.hpp"

namespace triax {
namespace {
using testing::HasSubstr;

class Precision : public testing_support::JobFiles {};

TEST_F(Precision, PrecisionIsRead) {
  EXPECT_EQ(config("").precision.type, DType::f32);
  EXPECT_EQ(config("").precision.gradient_type, DType::f32);
  for (const char* section : {"bf16", "bfloat16"}) {
    const auto bf16 = config(fmt::format(R"(, "{}": {{"enabled": true}})", section)).precision;
    EXPECT_EQ(bf16.type, DType::bf16);
    EXPECT_EQ(bf16.gradient_type, DType::f32) << "at ZeRO-0, as in DeepSpeed";
    EXPECT_FALSE(bf16.loss_scale.enabled);
    EXPECT_FALSE(bf16.fp8);
    EXPECT_TRUE(
        config(fmt::format(R"(, "{}": {{"enabled": true}}, "fp8": {{"enabled": true}})", section))
            .precision.fp8);
  }
  const std::string bf16 = R"(, "bf16": {"enabled": true})";
  const auto gradients = [&](const std::string& more) {
    return config(bf16 + more).precision.gradient_type;
  };
  for (int stage = 1; stage <= 3; ++stage)
    EXPECT_EQ(gradients(fmt::format(R"(, "zero_optimization": {{"stage": {}}})", stage)),
              DType::bf16);
  EXPECT_EQ(gradients(R"(, "fsdp": {"sharding_strategy": "FULL_SHARD"})"), DType::bf16);
  EXPECT_EQ(gradients(R"(, "zero_optimization": {"stage": 1},
                          "data_types": {"grad_accum_dtype": "fp32"})"),
            DType::f32);
  EXPECT_EQ(gradients(R"(, "data_types": {"grad_accum_dtype": "bf16"})"), DType::bf16);
  const auto fp16 = config(R"(, "fp16": {"enabled": true})").precision;
  EXPECT_EQ(fp16.type, DType::f16);
  EXPECT_EQ(fp16.gradient_type, DType::f16);
  EXPECT_TRUE(fp16.loss_scale.enabled);
  EXPECT_EQ(fp16.loss_scale.fixed, 0.0);
  EXPECT_EQ(fp16.loss_scale.initial_power, 16);
  EXPECT_EQ(fp16.loss_scale.window, 1000);
  EXPECT_EQ(fp16.loss_scale.hysteresis, 2);
  EXPECT_FALSE(fp16.loss_scale.consecutive_hysteresis);
  EXPECT_EQ(fp16.loss_scale.least, 1.0);
  const auto own = config(R"(, "fp16": {"enabled": true, "loss_scale": 128,
      "initial_scale_power": 9, "loss_scale_window": 7, "hysteresis": 3,
      "consecutive_hysteresis": true, "min_loss_scale": 0.5})")
                       .precision.loss_scale;
  EXPECT_EQ(own.fixed, 128.0);
  EXPECT_EQ(own.initial_power, 9);
  EXPECT_EQ(own.window, 7);
  EXPECT_EQ(own.hysteresis, 3);
  EXPECT_TRUE(own.consecutive_hysteresis);
  EXPECT_EQ(own.least, 0.5);
}

TEST_F(Precision, TwoPrecisionsAtOnceAreAnError) {
  EXPECT_THAT(error(R"(, "bf16": {"enabled": true}, "fp16": {"enabled": true})"),
              testing::AllOf(HasSubstr("bf16"), HasSubstr("fp16")));
}

// Gradients are summed between ranks in the type they are kept in.
TEST_F(Precision, CommunicationTypesThatAreNotTheGradientsAreRefused) {
  const std::string bf16 = R"(, "bf16": {"enabled": true})",
                    fp16 = R"(, "fp16": {"enabled": true})";
  const std::string wide = R"(, "data_types": {"grad_accum_dtype": "fp32"})";
  const auto asks = [](const std::string& type) {
    return R"(, "communication_data_type": ")" + type + "\"";
  };
  for (const std::string& more : {asks("fp32"), bf16 + asks("bf16"), bf16 + asks("fp32"),
                                  fp16 + asks("FP16"), bf16 + wide + asks("fp32")})
    EXPECT_EQ(error(more), "") << more;
  for (const std::string& model : {bf16 + R"(, "zero_optimization": {"stage": 1})", fp16})
    EXPECT_THAT(error(model + asks("fp32")),
                testing::AllOf(HasSubstr("communication_data_type: \"fp32\", but gradients are"),
                               HasSubstr("Set data_types.grad_accum_dtype to \"fp32\"")));
  EXPECT_THAT(error(fp16 + wide + asks("fp16")),
              HasSubstr("Leave out this key or data_types.grad_accum_dtype"));
  EXPECT_THAT(error(asks("bf16")), HasSubstr("gradients are kept in fp32"));
  EXPECT_THAT(error(asks("fp8")), HasSubstr("communication_data_type"));
  EXPECT_EQ(config(bf16 + asks("bf16")).precision.gradient_type, DType::bf16);
}

}  // namespace
}  // namespace triax
