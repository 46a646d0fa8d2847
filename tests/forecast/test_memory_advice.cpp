// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/memory_advice.hpp"

#include <algorithm>

#include "src/forecast/memory_check.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> advice(const PlacedConfig& config) {
  std::vector<std::string> settings;
  for (const MemorySaving& saving : memory_savings(config)) settings.push_back(saving.setting);
  return settings;
}

// A job whose state is larger than its activations.
PlacedConfig with_state(Layout layout) {
  PlacedConfig config = golden_config(layout);
  config.model.layers = 24;
  return config;
}

TEST(MemoryAdvice, TheMostEffectiveComesFirst) {
  for (const PlacedConfig& config :
       {golden_config({.micro = 4}), with_state({.data = 2, .micro = 1, .zero = 1})}) {
    const std::vector<MemorySaving> savings = memory_savings(config);
    ASSERT_GE(savings.size(), 3U);
    EXPECT_TRUE(std::is_sorted(
        savings.begin(), savings.end(),
        [](const MemorySaving& a, const MemorySaving& b) { return a.bytes > b.bytes; }));
    EXPECT_GT(savings.back().bytes, 0);
  }
  EXPECT_THAT(advice(golden_config({.micro = 4})),
              AllOf(Contains("train_micro_batch_size_per_gpu 2 or less"),
                    Contains("activation_checkpointing.number_checkpoints, to recompute layers")));
}

TEST(MemoryAdvice, OneDataRankHasNothingToCut) {
  EXPECT_THAT(advice(with_state({.micro = 1})),
              AllOf(Each(Not(HasSubstr("zero_optimization.stage 1"))),
                    Each(Not(HasSubstr("zero_optimization.stage 2"))),
                    Contains("zero_optimization.offload_optimizer.device nvme"),
                    Contains("zero_optimization.offload_param.device nvme with max_in_cpu 0 and "
                             "zero_optimization.stage 3")));
}

// The model is larger than the reserves of the GPU.
TEST(MemoryAdvice, OnGpusTheHostHasRoom) {
  PlacedConfig config = with_state({.micro = 8, .recompute = 99});
  config.model.hidden = 1024;
  config.model.intermediate = 4096;
  config.model.heads = config.model.kv_heads = 16;
  config.model.head_size = 64;
  config.data.sequence_length = config.model.positions = 512;
  const auto of_parameters =
      Contains("zero_optimization.offload_param.device cpu and zero_optimization.stage 3");
  const auto of_inputs = Contains("activation_checkpointing.cpu_checkpointing true");
  EXPECT_THAT(advice(config), AllOf(Not(of_parameters), Not(of_inputs)));
  config.place.space = MemorySpace::device;
  EXPECT_THAT(advice(config), AllOf(of_parameters, of_inputs));
  config.zero.stage = 3;
  config.zero.offload_param.device = OffloadDevice::cpu;
  config.recompute.inputs_on_host = true;
  EXPECT_THAT(advice(config), AllOf(Each(Not(HasSubstr("param.device cpu"))), Not(of_inputs)));
}

TEST(MemoryAdvice, ZeroStagesAreThoseBeyondTheJobs) {
  const auto stages = [](int zero) {
    std::vector<std::string> found = advice(with_state({.data = 2, .micro = 1, .zero = zero}));
    std::erase_if(found,
                  [](const std::string& s) { return !s.starts_with("zero_optimization.stage"); });
    return found;
  };
  EXPECT_EQ(stages(0).size(), 1U);  // the most effective stage only
  EXPECT_EQ(stages(1).size(), 1U);
  EXPECT_THAT(stages(3), IsEmpty());
  PlacedConfig config = with_state({.data = 2, .micro = 1, .zero = 3});
  EXPECT_THAT(advice(config), Not(Contains(HasSubstr("mics_shard_size"))));
  config.zero.shard_size = 1;
  EXPECT_THAT(advice(config), Contains("a larger zero_optimization.mics_shard_size"));
}

TEST(MemoryAdvice, IsNotWhatTheJobHas) {
  PlacedConfig config = with_state({.data = 2, .micro = 1, .zero = 3, .type = "bf16"});
  config.zero.persistence_threshold = 0;
  EXPECT_THAT(advice(config), Each(Not(HasSubstr("bf16.enabled"))));
  config.zero.offload_optimizer.device = OffloadDevice::nvme;
  config.zero.offload_optimizer.ratio = 0.5;
  EXPECT_THAT(advice(config), Contains("zero_optimization.offload_optimizer.ratio 1"));
  config.zero.offload_optimizer.ratio = 1.0;
  EXPECT_THAT(advice(config), Each(Not(HasSubstr("offload_optimizer"))));
  config.zero.offload_param.device = OffloadDevice::nvme;
  EXPECT_THAT(advice(config), Contains("a smaller zero_optimization.offload_param.max_in_cpu"));
  config.zero.offload_param.max_in_cpu = 0;
  EXPECT_THAT(advice(config), Each(Not(HasSubstr("offload_param"))));
  config.precision.gradient_type = DType::f32;
  config.zero.stage = 1;
  config.zero.offload_param = {};
  EXPECT_THAT(advice(config), Contains("data_types.grad_accum_dtype bf16"));
}

TEST(MemoryAdvice, NamesTheRecomputeThatIsLeft) {
  PlacedConfig config = golden_config({.micro = 4});
  config.recompute.what = Recompute::attention;
  EXPECT_THAT(advice(config),
              Contains("activation_checkpointing.granularity full with number_checkpoints"));
  config.recompute = {.what = Recompute::layer, .layers = 1};
  EXPECT_THAT(advice(config), Contains("a larger activation_checkpointing.number_checkpoints"));
  config.recompute.layers = 0;
  EXPECT_THAT(advice(config), Each(Not(HasSubstr("activation_checkpointing"))));
}

TEST(MemoryAdvice, ACopyForCheckpointsCanBeDoneWithout) {
  PlacedConfig config = with_state({.micro = 1});
  config.checkpoint.async = AsyncWrites::off;
  EXPECT_THAT(advice(config), Not(Contains("checkpoint.async false")));
  config.checkpoint.async = AsyncWrites::on;
  EXPECT_THAT(advice(config), Contains("checkpoint.async false"));
}

TEST(MemoryAdvice, StandsInTheRefusal) {
  const auto refusal = [](const PlacedConfig& config) {
    return error_of(
        [&] { check_fits(config, MemoryPlan(config, step_plans(config), 0), {0}, {1000.0}); });
  };
  const PlacedConfig config = with_state({.data = 2, .micro = 1, .zero = 1});
  EXPECT_THAT(refusal(config),
              AllOf(HasSubstr("the most effective first: " + advice(config).front()),
                    HasSubstr("iB less per rank)"), HasSubstr("or parallel.data")));
  EXPECT_THAT(refusal(with_state({.micro = 1})), Not(HasSubstr("parallel.data")));
}

TEST(MemoryAdvice, OfAPlanWithoutEndIsNone) {
  PlacedConfig config = golden_config({.micro = 4});
  config.batch.accumulation = 10'000'000;
  EXPECT_THAT(advice(config), IsEmpty());
}

}  // namespace
}  // namespace triax::test
