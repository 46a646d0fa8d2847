// Every golden case on every grid that the ranks and the model allow: float64 PyTorch's loss and gradient norm at each
// step, to the tolerances of tests/golden/README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

// Ways to run a case; for each number of ranks those whose grid has as many.
const std::vector<Layout> layouts = {
    // One rank: the plan, accumulation and recompute alone.
    {.micro = 1},
    {.micro = 2},
    {.micro = 4},
    {.schedule = "gpipe", .micro = 3},
    {.micro = 1, .recompute = 2},
    {.schedule = "gpipe", .chunks = 2, .micro = 2},
    {.schedule = "interleaved", .chunks = 3, .micro = 4, .recompute = 1},
    // Two.
    {.tensor = 2, .micro = 2},
    {.tensor = 2, .micro = 3, .recompute = 9},
    {.tensor = 2, .micro = 4, .sequence_parallel = false},
    {.pipeline = 2, .micro = 1},
    {.pipeline = 2, .micro = 4, .recompute = 1},
    {.pipeline = 2, .schedule = "gpipe", .micro = 2},
    {.pipeline = 2, .schedule = "gpipe", .chunks = 2, .micro = 3, .recompute = 9},
    {.pipeline = 2, .schedule = "interleaved", .chunks = 2, .micro = 2},
    {.pipeline = 2, .schedule = "interleaved", .chunks = 3, .micro = 1, .recompute = 1},
    {.data = 2, .micro = 1},
    {.data = 2, .micro = 2, .zero = 1},
    {.data = 2, .micro = 4, .zero = 1, .recompute = 9},
    // Three: what divides little else.
    {.tensor = 3, .micro = 2},
    {.tensor = 3, .micro = 1, .sequence_parallel = false, .recompute = 2},
    {.pipeline = 3, .micro = 2},
    {.pipeline = 3, .schedule = "gpipe", .micro = 4},
    {.pipeline = 3, .schedule = "interleaved", .chunks = 2, .micro = 1, .recompute = 1},
    {.data = 3, .micro = 2},
    {.data = 3, .micro = 4, .zero = 1},
    // Four.
    {.tensor = 4, .micro = 2},
    {.tensor = 4, .micro = 1, .sequence_parallel = false},
    {.pipeline = 4, .micro = 1},
    {.pipeline = 4, .schedule = "gpipe", .micro = 2, .recompute = 9},
    {.data = 4, .micro = 2, .zero = 1},
    {.data = 4, .micro = 1},
    {.tensor = 2, .pipeline = 2, .micro = 2},
    {.tensor = 2, .pipeline = 2, .schedule = "interleaved", .chunks = 2, .micro = 1, .sequence_parallel = false},
    {.tensor = 2, .data = 2, .micro = 2, .zero = 1},
    {.tensor = 2, .data = 2, .micro = 1, .sequence_parallel = false, .recompute = 9},
    {.pipeline = 2, .data = 2, .micro = 1, .zero = 1},
    {.pipeline = 2, .data = 2, .schedule = "gpipe", .chunks = 2, .micro = 2, .recompute = 1},
    // Eight.
    {.tensor = 2, .pipeline = 2, .data = 2, .micro = 1, .zero = 1, .recompute = 1},
    {.tensor = 2, .pipeline = 2, .data = 2, .schedule = "interleaved", .chunks = 2, .micro = 2, .zero = 1},
    {.tensor = 4, .data = 2, .micro = 2},
    {.pipeline = 4, .data = 2, .micro = 1, .zero = 1},
    {.tensor = 2, .pipeline = 4, .schedule = "gpipe", .micro = 2, .sequence_parallel = false},
};

// What a model allows (src/config refuses the rest, and says so: tests/config).
bool carries(const ModelConfig& model, std::int64_t global_batch, const Layout& layout) {
  const bool heads = model.heads % layout.tensor == 0 &&
                     (model.kv_heads % layout.tensor == 0 || layout.tensor % model.kv_heads == 0);
  const bool blocks = model.layers >= layout.pipeline * layout.chunks;
  const bool batch = global_batch % (layout.micro * layout.data) == 0;
  const std::int64_t accumulation = global_batch / (layout.micro * layout.data);
  return heads && blocks && batch && (layout.schedule != "interleaved" || accumulation % layout.pipeline == 0);
}

ModelConfig model_of(const GoldenCase& golden) {
  return model_from_huggingface(contents(golden.directory + "/config.json"), golden.name);
}

void expect_golden(const GoldenCase& golden, const std::vector<StepMetrics>& steps) {
  for (const StepMetrics& step : steps) {
    const GoldenStep& expected = golden.expected[static_cast<std::size_t>(step.step)];
    EXPECT_NEAR(step.loss, expected.loss, golden_loss_tolerance * expected.loss) << "step " << step.step;
    EXPECT_NEAR(step.grad_norm, expected.grad_norm, golden_norm_tolerance * expected.grad_norm) << "step " << step.step;
    EXPECT_NEAR(step.lr, expected.lr, 1e-12) << "step " << step.step;
    EXPECT_EQ(step.tokens, (step.step + 1) * golden.global_batch * golden.sequence_length);
  }
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, EveryLayoutGivesTheLossesOfPytorch) {
  const GoldenCase golden = read_golden(GetParam());
  const ModelConfig model = model_of(golden);
  int runs = 0;
  for (const Layout& layout : layouts) {
    if (layout.ranks() != world_size() || !carries(model, golden.global_batch, layout)) continue;
    SCOPED_TRACE(layout.text());
    expect_golden(golden, train(MPI_COMM_WORLD, golden_job(golden, layout), std::min<std::int64_t>(golden.steps, PARITY_STEPS)));
    ++runs;
  }
  RecordProperty("layouts", runs);
  if (runs == 0) GTEST_SKIP() << "no layout of " << world_size() << " ranks fits this model";
}

INSTANTIATE_TEST_SUITE_P(AllCases, Golden, testing::ValuesIn(golden_names()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Layouts, EachIsCarriedByAtLeastOneCase) {
  for (const Layout& layout : layouts) {
    const auto names = golden_names();
    EXPECT_TRUE(std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      const GoldenCase golden = read_golden(name);
      return carries(model_of(golden), golden.global_batch, layout);
    })) << layout.text();
  }
}

}  // namespace
}  // namespace triax::test
