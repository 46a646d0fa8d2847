// SPDX-License-Identifier: Apache-2.0
// bf16, fp16 and fp8 against float32: the same curve to the rounding of the type.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

// Relative tolerances of a loss. bf16 keeps 8 bits of a number, fp16 11, and fp8 4 in linear maps
// (3 for gradients).
constexpr double bf16_tolerance = 1e-3, fp16_tolerance = 2e-4, fp8_tolerance = 1e-2;

std::vector<Layout> layouts() {
  switch (world_size()) {
    case 1:
      return {{.micro = 2}, {.micro = 4, .recompute = 9}};
    case 2:
      return {{.tensor = 2, .micro = 2},
              {.pipeline = 2, .micro = 2},
              {.data = 2, .micro = 2},
              {.data = 2, .micro = 2, .zero = 1},
              {.data = 2, .micro = 2, .zero = 2},
              {.data = 2, .micro = 2, .zero = 3}};
    default:
      return {{.tensor = 2, .pipeline = 2, .micro = 2},
              {.pipeline = 2, .data = 2, .micro = 2, .zero = 3},
              {.tensor = 2, .data = 2, .micro = 2, .zero = 2}};
  }
}

class Precision : public testing::TestWithParam<std::string> {};

TEST_P(Precision, GoldenLossesToTheRoundingOfTheType) {
  const GoldenCase golden = read_golden(GetParam());
  for (Layout layout : layouts())
    for (const auto& [type, tolerance] :
         {std::pair{"bf16", bf16_tolerance}, {"fp16", fp16_tolerance}, {"fp8", fp8_tolerance}}) {
      layout.type = type;
      if (!carries(golden, layout)) continue;
      SCOPED_TRACE(layout.text());
      auto job = golden_job(golden, layout);
      // No step is skipped at this scale, so data and schedule stay those of the case.
      if (layout.type == "fp16") job["fp16"]["initial_scale_power"] = 10;
      for (const StepMetrics& step :
           train(MPI_COMM_WORLD, job, std::min<std::int64_t>(PARITY_STEPS, 10))) {
        const GoldenStep& expected = golden.expected[static_cast<std::size_t>(step.step)];
        EXPECT_NEAR(step.loss, expected.loss, tolerance * expected.loss) << "step " << step.step;
        EXPECT_FALSE(step.skipped);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, Precision, testing::Values("gpt2-tiny", "llama-tiny", "qwen2-odd"),
                         [](const auto& info) {
                           return info.param.substr(0, info.param.find('-'));
                         });

// Text of which a small byte model learns much in 60 steps.
std::string text() {
  std::string lines;
  for (int i = 0; i < 2000; ++i)
    lines += "line " + std::to_string(i) + " has the square " + std::to_string(i * i) + "\n";
  return lines;
}

double final_loss(const std::string& type) {
  const TempDirectory directory;
  auto job = golden_job(read_golden("gpt2-tiny"), {.micro = 8, .type = type});
  job["model"] = {{"architecture", "gpt2"}, {"n_layer", 2},      {"n_head", 2},
                  {"n_embd", 64},           {"n_positions", 32}, {"vocab_size", 256}};
  job["data"] = {{"train", {directory.file("text.txt", text())}}, {"seq_length", 32}};
  job["run"]["steps"] = 60;
  const std::vector<double> losses = losses_of(train(MPI_COMM_SELF, job, 60));
  EXPECT_LT(losses.back(), 0.7 * losses.front()) << type;
  double last = 0.0;  // averaged over ten steps, because one step depends on its samples
  for (std::size_t i = 50; i < 60; ++i) last += losses[i] / 10;
  return last;
}

TEST(PrecisionCurve, SixtyStepsEndWhereFloat32Ends) {
  if (PARITY_STEPS < 20) GTEST_SKIP() << "this build trains " << PARITY_STEPS << " steps only";
  if (world_size() > 1) GTEST_SKIP() << "one rank is enough";
  const double expected = final_loss("f32");
  for (const char* type : {"bf16", "fp16"})
    EXPECT_NEAR(final_loss(type), expected, 0.01 * expected) << type;
  EXPECT_NEAR(final_loss("fp8"), expected, 0.03 * expected);
}

// Gradient of a step of 16 micro-batches.
GlobalValues gradient(const std::string& type, const std::string& sums) {
  auto job = golden_job(read_golden("gpt2-tiny"), {.micro = 1, .type = type});
  job["train_batch_size"] = 16;
  if (!sums.empty()) job["data_types"]["grad_accum_dtype"] = sums;
  const LoadedJob loaded = load(job, 1);
  ProcessGrid grid = make_grid(MPI_COMM_SELF, loaded.config);
  Trainer trainer(loaded, grid);
  trainer.train_step(0);
  return collect(grid, loaded.config.model, trainer.store(), gradients_of(trainer.store()));
}

double distance(const GlobalValues& a, const GlobalValues& b) {
  double squares = 0.0;
  for (const auto& [name, values] : a)
    for (std::size_t i = 0; i < values.size(); ++i)
      squares += std::pow(values[i] - b.at(name)[i], 2);
  return std::sqrt(squares);
}

// 16 additions in bf16 lose bits that float32 sums keep.
TEST(GradientAccumulation, InFloat32IsCloserToFloat32) {
  if (world_size() > 1) GTEST_SKIP() << "one rank is enough";
  const GlobalValues exact = gradient("f32", "");
  const double in_bf16 = distance(gradient("bf16", ""), exact);
  const double in_f32 = distance(gradient("bf16", "fp32"), exact);
  EXPECT_EQ(distance(gradient("bf16", "bf16"), exact), in_bf16);
  EXPECT_LT(in_f32, 0.95 * in_bf16);  // the rest is the rounding of the products
  EXPECT_GT(in_f32, 0.0);
}

}  // namespace
}  // namespace triax::test
