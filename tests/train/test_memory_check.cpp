#include "src/train/memory_check.hpp"

#include <chrono>

#include "kernels/base/check.hpp"
#include "src/model/stage.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

TEST(CountParameters, IsTheSumOverTheModelsTensors) {
  for (const std::string& name : golden_names()) {
    const ModelConfig model = load(golden_job(read_golden(name), {}), 1).config.model;
    std::int64_t sum = 0;
    for (const GlobalTensor& tensor : global_tensors(model)) sum += tensor.shape.elements();
    EXPECT_EQ(count_parameters(model), static_cast<double>(sum)) << name;
  }
  EXPECT_EQ(count_parameters(ModelConfig()), 124439808.0);  // GPT-2, as published
}

TEST(CheckMemory, LetsAJobPassThatFits) {
  Config config;
  EXPECT_NO_THROW(check_memory(config, 8 * gib));
  EXPECT_NEAR(least_bytes_of_rank(config), 16.0 * 124439808 + 4.0 * 1024 * 3072, 1.0);
}

TEST(CheckMemory, WhatLiesOnADiskTakesNone) {
  Config config;
  const double all = least_bytes_of_rank(config);
  config.zero.offload_optimizer.device = OffloadDevice::nvme;
  EXPECT_NEAR(least_bytes_of_rank(config), all - 8.0 * 124439808, 1.0);
  config.zero.offload_optimizer.ratio = 0.25;
  EXPECT_NEAR(least_bytes_of_rank(config), all - 2.0 * 124439808, 1.0);
  config.zero.offload_param.device = OffloadDevice::nvme;
  config.zero.offload_param.max_in_cpu = 1'000'000;
  EXPECT_NEAR(least_bytes_of_rank(config), all - 6.0 * 124439808 + 4e6, 1.0);
}

TEST(CheckMemory, GridAndShardingTakeTheirPart) {
  Config config;
  const double alone = least_bytes_of_rank(config);
  config.parallel.tensor = 2;
  config.parallel.pipeline = 3;
  EXPECT_LT(least_bytes_of_rank(config), alone / 2);
  const double replicated = least_bytes_of_rank(config);
  config.parallel.data = 4;
  EXPECT_EQ(least_bytes_of_rank(config), replicated);
  config.zero.stage = 1;
  EXPECT_LT(least_bytes_of_rank(config), 0.7 * replicated);
}

// The largest sizes that the table of keys allows, at once.
TEST(CheckMemory, ImpossibleSizesAreTheUsersErrorAtOnce) {
  Config config;
  config.model.layers = 10000;
  config.model.hidden = 10000000;
  config.model.heads = config.model.kv_heads = 1;
  config.model.head_size = config.model.hidden;
  config.model.intermediate = 100000000;
  config.model.vocabulary = 1000000000;
  config.model.positions = 1000000000;
  config.batch.micro = 1000000000000;
  config.data.sequence_length = 1000000000;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(check_memory(config, 1000 * gib), UsageError);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_THAT(error_of([&] { check_memory(config, 1000 * gib); }),
              AllOf(HasSubstr("parameters"), HasSubstr("has 1000 GiB"),
                    HasSubstr("1000000000000 x 1000000000 tokens")));
}

TEST(CheckMemory, APlanMayBeTooLongByItself) {
  Config config;
  config.batch.accumulation = 1000000000;
  EXPECT_THAT(error_of([&] { check_memory(config, 8 * gib); }),
              AllOf(HasSubstr("instructions"), HasSubstr("gradient_accumulation_steps")));
  EXPECT_THROW(check_plan_size(config, 8 * gib), UsageError);
}

TEST(NodeMemory, IsThatOfThisMachine) {
  EXPECT_GT(node_memory(), 0.1 * gib);
  EXPECT_LT(node_memory(), 1e6 * gib);
}

}  // namespace
}  // namespace triax::test
