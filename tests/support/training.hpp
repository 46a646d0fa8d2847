// SPDX-License-Identifier: Apache-2.0
#pragma once
// Training inside a test: jobs run step by step, and the model's state as global tensors.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/trainer/trainer.hpp"
#include "tests/support/job_builder.hpp"

namespace triax::test {

/// Trains steps [0, steps) of a job over `world`. All ranks return the same. Collective.
std::vector<StepMetrics> train(MPI_Comm world, const nlohmann::json& job, std::int64_t steps);
/// Trains over an existing grid. Collective.
std::vector<StepMetrics> train(ProcessGrid& grid, const LoadedJob& job, std::int64_t steps);

/// Runs a job over all ranks as `triax train` does. Its files are complete on return. Collective.
void train_to_the_end(const nlohmann::json& job);
/// Runs a job over an existing grid. Collective.
void train_to_the_end(ProcessGrid& grid, const LoadedJob& job);

/// Lines of a run's metrics.jsonl.
std::vector<nlohmann::json> metrics_of(const std::string& directory);
/// Expects `found` to hold the lines of steps [begin, end) of the run whose lines are `straight`,
/// [0, end), each once. Tolerances are relative; 0 requires the same bits.
void expect_resumed(const std::vector<nlohmann::json>& found,
                    const std::vector<nlohmann::json>& straight, std::size_t begin,
                    double loss_tolerance, double norm_tolerance);

/// Loss of every step, and its gradient norm.
std::vector<double> losses_of(const std::vector<StepMetrics>& steps);
std::vector<double> norms_of(const std::vector<StepMetrics>& steps);

/// Expects the same bits in the loss and gradient norm of every step.
void expect_same_bits(const std::vector<StepMetrics>& a, const std::vector<StepMetrics>& b);
/// Compares the first steps with a golden case, to the golden tolerances.
void expect_golden(const GoldenCase& golden, const std::vector<StepMetrics>& steps);

/// One number per element of the model's tensors, by name, in global row-major order.
using GlobalValues = std::map<std::string, std::vector<float>>;

using ValuesOfBlock = std::function<BlockView(int block)>;
/// Views for collect() of weights, gradients and moments in memory.
ValuesOfBlock weights_of(const ParameterStore& store);
ValuesOfBlock gradients_of(const ParameterStore& store);
ValuesOfBlock first_moments_of(const Optimizer& optimizer);
ValuesOfBlock second_moments_of(const Optimizer& optimizer);

/// Zeros for every tensor of the model.
GlobalValues zeros(const ModelConfig& model);
/// Calls visit(tensor name, global index, element of the block) for every element that this rank
/// owns, that is saves and counts in the norm.
void for_each_owned(
    const ParameterBlock& block,
    const std::function<void(const std::string&, std::int64_t, std::int64_t)>& visit);
/// Adds every element that this rank owns at its global index; nothing of a bucket that has no such
/// values, being frozen.
void add_owned(GlobalValues& values, const std::vector<ParameterBlock>& blocks,
               const ValuesOfBlock& values_of);
/// Global tensors of a model spread over `grid`, the same on every rank. Collective.
GlobalValues collect(ProcessGrid& grid, const ModelConfig& model, const ParameterStore& store,
                     const ValuesOfBlock& values_of);
TensorSummary summary_of(const std::vector<float>& values);

}  // namespace triax::test
