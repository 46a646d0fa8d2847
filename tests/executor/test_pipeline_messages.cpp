// SPDX-License-Identifier: Apache-2.0
#include "src/executor/pipeline_messages.hpp"

#include <array>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using Payload = PipelineMessages::Payload;

TEST(PipelineMessages, ThatMpiHasNoTagsForAreRefusedBeforeAStep) {
  PlacedConfig config;
  config.parallel.pipeline = 4;
  config.parallel.chunks = 2;
  config.batch.accumulation = 100;
  check_tags(config, 2 * 4 * 2 * 100 - 1);
  EXPECT_THAT(
      error_of([&] { check_tags(config, 2 * 4 * 2 * 100 - 2); }),
      testing::AllOf(testing::HasSubstr("1600 different tags"), testing::HasSubstr("1599 tags"),
                     testing::HasSubstr("train_micro_batch_size_per_gpu")));
  config.place = {.space = MemorySpace::device, .staged_messages = false};
  check_tags(config, 1);  // NCCL has no tags
  config.place = {};
  config.parallel.pipeline = 1;
  check_tags(config, 1);
}

// progress() tests messages between any two instructions. A step may have thousands of them, few
// under way.
TEST(PipelineMessages, ThatAreDoneAreNotAskedAboutAgain) {
  if (world_size() != 2) GTEST_SKIP() << "two stages";
  constexpr int microbatches = 50;
  auto job = golden_job(read_golden("gpt2-tiny"), {.pipeline = 2});
  const LoadedJob loaded = load(job, 2);
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, loaded.config);
  const StepPlans plans = plan_job(on_grid(loaded.config, grid)).steps;
  const StageLayout layout(plans.shape, grid.pipeline_rank());
  PipelineMessages messages(grid.pipeline(), layout, microbatches);
  const Stream host;
  for (int m = 0; m < microbatches; ++m) {
    std::array<float, 1> value = {static_cast<float>(m)};
    const Op op{.kind = OpKind::SendActivationStart, .microbatch = m};
    if (grid.pipeline_rank() == 0) {
      messages.start_send(host, Payload::activation, op, Tensor(value.data(), {1}));
      EXPECT_EQ(messages.under_way(), 1U);
      messages.wait_send(host, Payload::activation, op);
    } else {
      value = {};
      messages.start_receive(host, Payload::activation, op, Tensor(value.data(), {1}));
      EXPECT_EQ(messages.under_way(), 1U);
      messages.wait_receive(host, Payload::activation, op);
      EXPECT_EQ(value[0], static_cast<float>(m));
    }
    messages.progress();
    EXPECT_EQ(messages.under_way(), 0U);
  }
}

}  // namespace
}  // namespace triax::test
