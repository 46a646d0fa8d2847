// SPDX-License-Identifier: Apache-2.0
#include "tests/support/training.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "kernels/activation/elementwise.hpp"
#include "src/forecast/same_plan.hpp"

namespace triax::test {
namespace {

// Builds and checks the plan as `triax train` does.
JobPlan checked_plan(ProcessGrid& grid, const LoadedJob& job) {
  JobPlan plan = plan_job(on_grid(job.config, grid));
  check_same_plan(grid, plan.config, plan.steps);
  return plan;
}

}  // namespace

std::vector<StepMetrics> train(MPI_Comm world, const nlohmann::json& job, std::int64_t steps) {
  int ranks = 0;
  MPI_Comm_size(world, &ranks);
  const LoadedJob loaded = load(job, ranks);
  ProcessGrid grid = make_grid(world, loaded.config);
  return train(grid, loaded, steps);
}

std::vector<StepMetrics> train(ProcessGrid& grid, const LoadedJob& job, std::int64_t steps) {
  Trainer trainer(job, grid, checked_plan(grid, job));
  std::vector<StepMetrics> metrics;
  for (std::int64_t step = 0; step < steps; ++step) metrics.push_back(trainer.train_step(step));
  return metrics;
}

void train_to_the_end(const nlohmann::json& job) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const LoadedJob loaded = load(job, ranks);
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, loaded.config);
  train_to_the_end(grid, loaded);
}

void train_to_the_end(ProcessGrid& grid, const LoadedJob& job) {
  Trainer(job, grid, checked_plan(grid, job)).run();
  grid.world().barrier(Stream{}).wait(Stream{});
}

std::vector<nlohmann::json> metrics_of(const std::string& directory) {
  std::vector<nlohmann::json> lines;
  std::ifstream file(directory + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

void expect_resumed(const std::vector<nlohmann::json>& found,
                    const std::vector<nlohmann::json>& straight, std::size_t begin,
                    double loss_tolerance, double norm_tolerance) {
  ASSERT_EQ(found.size() + begin, straight.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto& expected = straight[begin + i];
    EXPECT_EQ(expected["step"], begin + i);
    for (const char* key : {"step", "tokens", "lr"}) EXPECT_EQ(found[i][key], expected[key]) << key;
    for (const auto& [key, tolerance] :
         {std::pair{"loss", loss_tolerance}, {"grad_norm", norm_tolerance}}) {
      const double value = expected[key];
      EXPECT_NEAR(found[i][key], value, tolerance * value)
          << key << " of step " << expected["step"];
    }
  }
}

std::vector<double> losses_of(const std::vector<StepMetrics>& steps) {
  std::vector<double> losses;
  for (const StepMetrics& step : steps) losses.push_back(step.loss);
  return losses;
}

std::vector<double> norms_of(const std::vector<StepMetrics>& steps) {
  std::vector<double> norms;
  for (const StepMetrics& step : steps) norms.push_back(step.grad_norm);
  return norms;
}

void expect_same_bits(const std::vector<StepMetrics>& a, const std::vector<StepMetrics>& b) {
  EXPECT_EQ(losses_of(a), losses_of(b));
  EXPECT_EQ(norms_of(a), norms_of(b));
}

void expect_golden(const GoldenCase& golden, const std::vector<StepMetrics>& steps) {
  for (const StepMetrics& step : steps) {
    const GoldenStep& expected = golden.expected[static_cast<std::size_t>(step.step)];
    EXPECT_NEAR(step.loss, expected.loss, golden_loss_tolerance * expected.loss)
        << "step " << step.step;
    EXPECT_NEAR(step.grad_norm, expected.grad_norm, golden_norm_tolerance * expected.grad_norm)
        << "step " << step.step;
    EXPECT_NEAR(step.lr, expected.lr, 1e-12) << "step " << step.step;
    EXPECT_EQ(step.tokens, (step.step + 1) * golden.global_batch * golden.sequence_length);
  }
}

ValuesOfBlock weights_of(const ParameterStore& store) {
  return [&store](int block) { return store.weights(block); };
}

ValuesOfBlock gradients_of(const ParameterStore& store) {
  return [&store](int block) { return store.gradients(block); };
}

ValuesOfBlock first_moments_of(const Optimizer& optimizer) {
  return [&](int block) { return optimizer.kept_state(block).states[0]; };
}

ValuesOfBlock second_moments_of(const Optimizer& optimizer) {
  return [&](int block) { return optimizer.kept_state(block).states[1]; };
}

GlobalValues zeros(const ModelConfig& model) {
  GlobalValues values;
  for (const GlobalTensor& tensor : global_tensors(model))
    values[tensor.name].resize(static_cast<std::size_t>(tensor.shape.elements()));
  return values;
}

void for_each_owned(
    const ParameterBlock& block,
    const std::function<void(const std::string&, std::int64_t, std::int64_t)>& visit) {
  if (block.duplicate) return;
  for (const PlacedParameter& param : block.params) {
    const Shape& local = param.spec.shape;
    const FlatRange here = intersect(param.range(), block.own);
    for (const Piece& piece : param.spec.pieces) {
      if (!piece.owner) continue;
      for_each_run(intersect(piece, local, here.begin - param.offset, here.end - param.offset),
                   local, [&](std::int64_t at, std::int64_t global, std::int64_t count) {
                     for (std::int64_t i = 0; i < count; ++i)
                       visit(piece.name, global + i, param.offset + at + i);
                   });
    }
  }
}

void add_owned(GlobalValues& values, const std::vector<ParameterBlock>& blocks,
               const ValuesOfBlock& values_of) {
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const BlockView block = values_of(static_cast<int>(b));
    if (block.range.count() == 0) continue;  // a frozen bucket has only weights
    std::vector<float> data(static_cast<std::size_t>(block.range.count()));
    convert(Stream{}, Tensor(data.data(), block.data.shape()), block.data);
    for_each_owned(blocks[b],
                   [&](const std::string& name, std::int64_t global, std::int64_t element) {
                     values.at(name).at(static_cast<std::size_t>(global)) +=
                         data[static_cast<std::size_t>(element - block.range.begin)];
                   });
  }
}

GlobalValues collect(ProcessGrid& grid, const ModelConfig& model, const ParameterStore& store,
                     const ValuesOfBlock& values_of) {
  GlobalValues values = zeros(model);
  add_owned(values, store.blocks(), values_of);
  for (auto& [name, elements] : values)
    grid.world()
        .all_reduce(Stream{}, Tensor(elements.data(), {static_cast<std::int64_t>(elements.size())}))
        .wait(Stream{});
  return values;
}

TensorSummary summary_of(const std::vector<float>& values) {
  double sum = 0.0, squares = 0.0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return {sum, std::sqrt(squares)};
}

}  // namespace triax::test
