// SPDX-License-Identifier: Apache-2.0
// Every golden case on grids that the ranks and the model allow: float64 PyTorch's loss and
// gradient norm at each step, to the tolerances of tests/golden/README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

// Layouts of a case. A test uses those with its number of ranks.
const std::vector<Layout> layouts = {
    // One rank: the plan, accumulation and recomputation alone.
    {.micro = 1},
    {.micro = 2},
    {.micro = 4},
    {.schedule = "gpipe", .micro = 3},
    {.micro = 1, .recompute = 2},
    {.schedule = "gpipe", .chunks = 2, .micro = 2},
    {.schedule = "interleaved", .chunks = 3, .micro = 4, .recompute = 1},
    // Two ranks.
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
    {.data = 2, .micro = 1, .zero = 2},
    {.data = 2, .schedule = "gpipe", .micro = 2, .zero = 2, .overlap = false},
    {.data = 2, .micro = 2, .zero = 3, .recompute = 1},
    {.data = 2, .schedule = "gpipe", .chunks = 2, .micro = 1, .zero = 3, .overlap = false},
    {.data = 2, .micro = 4, .zero = 3, .persistence = 1000},
    // Three ranks, which divide little evenly.
    {.tensor = 3, .micro = 2},
    {.tensor = 3, .micro = 1, .sequence_parallel = false, .recompute = 2, .partition = true},
    {.pipeline = 3, .micro = 2},
    {.pipeline = 3, .schedule = "gpipe", .micro = 4},
    {.pipeline = 3, .schedule = "interleaved", .chunks = 2, .micro = 1, .recompute = 1},
    {.data = 3, .micro = 2},
    {.data = 3, .micro = 4, .zero = 1},
    {.data = 3, .micro = 2, .zero = 2},
    {.data = 3, .micro = 1, .zero = 3, .persistence = 200},
    // Four ranks.
    {.tensor = 4, .micro = 2},
    {.tensor = 4, .micro = 4, .sequence_parallel = false},
    {.pipeline = 4, .micro = 1},
    {.pipeline = 4, .schedule = "gpipe", .micro = 2, .recompute = 9},
    {.data = 4, .micro = 2, .zero = 1},
    {.data = 4, .micro = 1},
    {.data = 4, .micro = 2, .zero = 3},
    {.data = 4, .micro = 3, .zero = 3, .overlap = false, .persistence = 100},
    {.tensor = 2, .data = 2, .micro = 1, .zero = 3, .persistence = 1000},
    {.pipeline = 2, .data = 2, .micro = 2, .zero = 2},
    {.pipeline = 2, .data = 2, .micro = 1, .zero = 3},
    {.pipeline = 2, .data = 2, .schedule = "gpipe", .micro = 2, .zero = 3, .recompute = 9},
    {.pipeline = 2, .data = 2, .schedule = "interleaved", .chunks = 2, .micro = 2, .zero = 3},
    {.tensor = 2, .pipeline = 2, .micro = 2},
    {.tensor = 2,
     .pipeline = 2,
     .schedule = "interleaved",
     .chunks = 2,
     .micro = 1,
     .sequence_parallel = false},
    {.tensor = 2, .data = 2, .micro = 2, .zero = 1},
    {.tensor = 2, .data = 2, .micro = 1, .sequence_parallel = false, .recompute = 9},
    {.pipeline = 2, .data = 2, .micro = 1, .zero = 1},
    {.pipeline = 2, .data = 2, .schedule = "gpipe", .chunks = 2, .micro = 2, .recompute = 1},
    // Eight ranks.
    {.tensor = 2, .pipeline = 2, .data = 2, .micro = 1, .zero = 1, .recompute = 1},
    {.tensor = 2,
     .pipeline = 2,
     .data = 2,
     .schedule = "interleaved",
     .chunks = 2,
     .micro = 2,
     .zero = 1},
    {.tensor = 2, .pipeline = 2, .data = 2, .micro = 2, .zero = 2},
    {.tensor = 2, .pipeline = 2, .data = 2, .micro = 1, .zero = 3, .persistence = 100},
    {.tensor = 2,
     .pipeline = 2,
     .data = 2,
     .schedule = "interleaved",
     .chunks = 2,
     .micro = 1,
     .zero = 3,
     .sequence_parallel = false},
    {.tensor = 4, .data = 2, .micro = 2},
    // llama-scaled: 900 lies between the sizes of two ranks' shards of mlp.input, 864 and 936.
    {.tensor = 4, .data = 2, .micro = 1, .zero = 3, .persistence = 900},
    {.pipeline = 4, .data = 2, .micro = 1, .zero = 1},
    {.tensor = 2, .pipeline = 4, .schedule = "gpipe", .micro = 2, .sequence_parallel = false},
};

// ZeRO-2, ZeRO-3 and eight ranks, which share few cores, run half of a case here;
// test_golden_tensors.cpp runs all of it.
std::int64_t steps_on(const GoldenCase& golden, const Layout& layout) {
  const bool half = layout.zero >= 2 || layout.ranks() >= 8;
  return std::min<std::int64_t>(PARITY_STEPS, golden.steps / (half ? 2 : 1));
}

// Layouts of these ranks that a case runs on: every second one, by the case's position among all
// beginning with the first or the second. Families share their code, so neighbours test what one
// leaves out. All of them: jobs/test.sh --long.
std::vector<Layout> layouts_of(const GoldenCase& golden) {
  std::vector<Layout> mine;
  for (const Layout& layout : layouts)
    if (layout.ranks() == world_size() && carries(golden, layout)) mine.push_back(layout);
  if (mine.size() < 2 || std::getenv("TRIAX_TEST_LONG") != nullptr) return mine;
  const std::vector<std::string> names = golden_names();
  std::vector<Layout> turns;
  for (auto i = static_cast<std::size_t>(std::ranges::find(names, golden.name) - names.begin()) % 2;
       i < mine.size(); i += 2)
    turns.push_back(mine[i]);
  return turns;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, GivesTheLossesOfPytorch) {
  const GoldenCase golden = read_golden(GetParam());
  const std::vector<Layout> mine = layouts_of(golden);
  for (const Layout& layout : mine) {
    SCOPED_TRACE(layout.text());
    expect_golden(golden,
                  train(MPI_COMM_WORLD, golden_job(golden, layout), steps_on(golden, layout)));
  }
  RecordProperty("layouts", static_cast<int>(mine.size()));
  if (mine.empty()) GTEST_SKIP() << "no layout of " << world_size() << " ranks fits this model";
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
      return carries(read_golden(name), layout);
    })) << layout.text();
  }
}

}  // namespace
}  // namespace triax::test
