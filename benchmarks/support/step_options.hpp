#pragma once
// The command line of benchmarks/step, and what its cases are called.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace triax::benchmark {

/// What benchmarks/step is told.
struct StepOptions {
  std::string model = "gpt2-124m";
  int layers = 0;  // the model's
  int tensor = 1, pipeline = 1, data = 1, zero = 0, steps = 7;
  int threads = 0;  // of OwnCores
  std::int64_t batch = 2, micro = 0, sequence = 512;
  std::string recompute = "none";
  bool keep_outputs = false;
  std::string schedule = "1f1b";
  std::string type = "f32", gradients;  // gradients: as type
  std::string device = "cpu";
  double peak_flops = 0.0;   // of a GPU, as its maker says; 0: not known
  bool kernels = false;      // times by kernel too
  std::string from, tokens;  // empty: a shape of ours, random tokens
  std::string name, program = "triax", series;
};

void add_options(CLI::App& app, StepOptions& options);

/// Sequences of a micro-batch.
std::int64_t micro_of(const StepOptions& options);

/// The name of the case on `place` ("threads 2"): all that sets its work apart, of what has a usual
/// value only another one.
std::string case_of(const StepOptions& options, const std::string& place);

}  // namespace triax::benchmark
