// SPDX-License-Identifier: Apache-2.0
// One loss curve for every ZeRO stage x location of the state x recomputation x grid.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <utility>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t steps = std::min(PARITY_STEPS, 3);
constexpr double tolerance = 1e-5;  // relative, of losses and gradient norms

enum class Disk : std::uint8_t { nothing, optimizer, parameters_and_optimizer };

// Two or more micro-batches per step, so that gradients are accumulated.
std::vector<Layout> grids() {
  return {{.tensor = 4, .micro = 4},
          {.tensor = 2, .data = 2, .micro = 2},
          {.tensor = 2, .pipeline = 2, .micro = 2},
          {.tensor = 2, .pipeline = 2, .data = 2, .micro = 1}};
}

struct Case {
  Layout layout;
  Disk disk = Disk::nothing;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.layout.text();
}

// Name of a case, such as "data2_pipeline1_tensor2_stage3_optimizerOnNvme_recomputeFull".
std::string name_of(const Case& c) {
  const Layout& l = c.layout;
  const char* const on_disk[] = {"noOffload", "optimizerOnNvme", "parametersAndOptimizerOnNvme"};
  return fmt::format("data{}_pipeline{}_tensor{}_stage{}_{}_recompute{}", l.data, l.pipeline,
                     l.tensor, l.zero, on_disk[static_cast<int>(c.disk)],
                     l.recompute == 0               ? "None"
                     : l.granularity == "selective" ? "Selective"
                                                    : "Full");
}

std::vector<Case> all_cases() {
  constexpr int every_layer = 99;
  std::vector<Case> cases;
  for (Layout layout : grids())
    for (layout.zero = 0; layout.zero <= 3; ++layout.zero)
      for (const Disk disk : {Disk::nothing, Disk::optimizer, Disk::parameters_and_optimizer})
        for (const auto& [layers, granularity] :
             {std::pair{0, "full"}, {every_layer, "full"}, {every_layer, "selective"}}) {
          layout.recompute = layers;
          layout.granularity = granularity;
          cases.push_back({layout, disk});
        }
  return cases;
}

class MemoryMatrix : public testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<SharedDirectory>();
    alone_ = train(MPI_COMM_SELF, plain_job({.micro = 4}), steps);
  }
  static void TearDownTestSuite() {
    alone_.clear();
    plain_.clear();
    grid_.reset();
    directory_.reset();
  }
  // The job with everything in memory.
  static nlohmann::json plain_job(const Layout& layout) {
    auto job = golden_job(read_golden("gpt2-tiny"), layout);
    job["data"]["seq_length"] = 16;
    job["zero_optimization"]["stage3_param_persistence_threshold"] = 100;
    return job;
  }
  static nlohmann::json job_of(const Case& c) {
    auto job = plain_job(c.layout);
    if (c.disk != Disk::nothing) offload_optimizer(job, directory_->path());
    if (c.disk == Disk::parameters_and_optimizer) offload_parameters(job, directory_->path());
    return job;
  }
  // Consecutive cases share a grid, which is expensive to make.
  static std::vector<StepMetrics> run(const nlohmann::json& text) {
    const LoadedJob job = load(text, world_size());
    const GridShape shape = grid_shape(job.config.parallel);
    const bool same =
        grid_ && grid_->shape().tensor == shape.tensor && grid_->shape().pipeline == shape.pipeline;
    if (!same) grid_ = std::make_unique<ProcessGrid>(MPI_COMM_WORLD, shape);
    return train(*grid_, job, steps);
  }
  // Results of the same grid and ZeRO stage with everything in memory and nothing recomputed. Run
  // once.
  static const std::vector<StepMetrics>& plain(const Case& c) {
    Layout layout = c.layout;
    layout.recompute = 0;
    layout.granularity = "full";
    auto& found = plain_[layout.text()];
    if (found.empty()) found = run(plain_job(layout));
    return found;
  }
  static void expect_close(const std::vector<StepMetrics>& found) {
    ASSERT_EQ(found.size(), alone_.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].loss, alone_[i].loss, tolerance * alone_[i].loss) << "step " << i;
      EXPECT_NEAR(found[i].grad_norm, alone_[i].grad_norm, tolerance * alone_[i].grad_norm)
          << "step " << i;
    }
  }

 private:
  static inline std::unique_ptr<SharedDirectory> directory_;
  static inline std::unique_ptr<ProcessGrid> grid_;                      // of the last case
  static inline std::vector<StepMetrics> alone_;                         // on one rank
  static inline std::map<std::string, std::vector<StepMetrics>> plain_;  // by grid and ZeRO stage
};

TEST_P(MemoryMatrix, IsOneLossCurve) {
  const Case& c = GetParam();
  if (c.layout.ranks() != world_size()) GTEST_SKIP() << "needs " << c.layout.ranks() << " ranks";
  const auto job = job_of(c);
  if (c.disk == Disk::parameters_and_optimizer && c.layout.zero < 3) {
    EXPECT_THAT(error_of([&] { load(job, world_size()); }),
                AllOf(HasSubstr("zero_optimization.offload_param.device: parameters are offloaded "
                                "under ZeRO-3 only"),
                      HasSubstr(fmt::format("(stage is {})", c.layout.zero)),
                      HasSubstr("Set zero_optimization.stage to 3, or leave this out")));
    return;
  }
  const auto found = run(job);
  expect_close(found);
  expect_same_bits(plain(c), found);
}

INSTANTIATE_TEST_SUITE_P(All, MemoryMatrix, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return name_of(info.param); });

// Layouts that cover each golden case between them.
std::vector<Layout> golden_layouts() {
  switch (world_size()) {
    case 2:
      return {{.data = 2, .micro = 2, .zero = 3}};
    case 4:
      return {{.tensor = 2, .pipeline = 2, .micro = 2, .zero = 3},
              {.pipeline = 2, .data = 2, .micro = 2, .zero = 3}};
    default:
      return {{.tensor = 2, .pipeline = 2, .data = 2, .micro = 2, .zero = 3},
              {.pipeline = 2, .data = 4, .micro = 1, .zero = 3}};
  }
}

class GoldenOnDisk : public testing::TestWithParam<std::string> {};

TEST_P(GoldenOnDisk, Stage3WithParametersAndOptimizer) {
  const SharedDirectory directory;
  const GoldenCase golden = read_golden(GetParam());
  const auto layouts = golden_layouts();
  const auto layout = std::find_if(layouts.begin(), layouts.end(),
                                   [&](const Layout& l) { return carries(golden, l); });
  ASSERT_NE(layout, layouts.end());
  SCOPED_TRACE(layout->text());
  auto job = golden_job(golden, *layout);
  offload_optimizer(job, directory.path());
  offload_parameters(job, directory.path());
  expect_golden(golden,
                train(MPI_COMM_WORLD, job, std::min<std::int64_t>(PARITY_STEPS, golden.steps)));
}

INSTANTIATE_TEST_SUITE_P(AllCases, GoldenOnDisk, testing::ValuesIn(golden_names()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace triax::test
