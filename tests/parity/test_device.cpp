// Training with the tensors of a device: the curves of PyTorch, as on the host. By the emulated
// device on any machine (a program of its own); on GPUs where there are some.
#include <gtest/gtest.h>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t steps = 4;

nlohmann::json on_device(nlohmann::json job) {
  job["run"]["device"] = "gpu";
  return job;
}

std::vector<Layout> layouts() {
  if (world_size() == 1)
    return {{.micro = 2}, {.micro = 1, .recompute = 2}, {.schedule = "gpipe", .chunks = 2}};
  if (world_size() == 2)
    return {
        {.tensor = 2, .micro = 2},
        {.tensor = 2, .micro = 4, .sequence_parallel = false, .recompute = 9, .partition = true},
        {.pipeline = 2, .micro = 1},
        {.data = 2, .micro = 2},
        {.data = 2, .micro = 4, .zero = 1},
        {.data = 2, .micro = 1, .zero = 2},
        {.data = 2, .micro = 2, .zero = 3, .recompute = 1}};
  return {{.tensor = 2, .pipeline = 2, .micro = 2},
          {.tensor = 2, .data = 2, .micro = 1, .zero = 3, .persistence = 1000},
          {.pipeline = 2, .data = 2, .schedule = "interleaved", .chunks = 2, .micro = 2, .zero = 2},
          {.data = 4, .micro = 1, .zero = 1}};
}

class OnDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << "skipped: no CUDA device";
  }
};

TEST_P(OnDevice, EveryLayoutGivesTheLossesOfPytorch) {
  const GoldenCase golden = read_golden(GetParam());
  int runs = 0;
  for (const Layout& layout : layouts()) {
    if (!carries(golden, layout)) continue;
    SCOPED_TRACE(layout.text());
    expect_golden(golden, train(MPI_COMM_WORLD, on_device(golden_job(golden, layout)), steps));
    ++runs;
  }
  EXPECT_GT(runs, 0);
}

INSTANTIATE_TEST_SUITE_P(Cases, OnDevice, testing::Values("gpt2-tiny", "llama-tiny", "qwen2-odd"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace triax::test
