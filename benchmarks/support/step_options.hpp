// SPDX-License-Identifier: Apache-2.0
#pragma once
// Command line of benchmarks/step, and the names of its cases.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace triax::benchmark {

/// Options of benchmarks/step.
struct StepOptions {
  std::string model = "gpt2-124m";
  int layers = 0;  // 0: the model's
  int tensor = 1, pipeline = 1, data = 1, zero = 0, steps = 7;
  int threads = 0;  // for OwnCores
  std::int64_t batch = 2, micro = 0, sequence = 512;
  std::string recompute = "none";
  bool keep_outputs = false;
  std::string schedule = "1f1b";
  std::string type = "f32", gradients;  // gradients: empty for `type`
  std::string device = "cpu";
  double peak_flops = 0.0;   // of a GPU, as its maker says; 0: unknown
  bool kernels = false;      // also measure times by kernel
  std::string from, tokens;  // empty: a shape of ours with random tokens
  std::string name, program = "triax", series;
};

void add_options(CLI::App& app, StepOptions& options);

/// Sequences per micro-batch.
std::int64_t micro_of(const StepOptions& options);

/// Name of the case on `place` (such as "threads 2"): everything that defines its work, with
/// options that have a default only if they differ from it.
std::string case_of(const StepOptions& options, const std::string& place);

}  // namespace triax::benchmark
