// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples that a run takes from each source of its training data, as text.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "src/config/config.hpp"
#include "src/data/mixture/training_data.hpp"

namespace triax {

/// Epochs over one source beyond which repeated tokens are worth clearly less than new ones
/// (Muennighoff et al. 2023, Scaling Data-Constrained Language Models).
inline constexpr double worthwhile_epochs = 4.0;

/// A source in a run from its first step to run.steps.
struct SourcePlan {
  std::string name;
  std::size_t files = 0;
  std::string share;     // "70% of the samples until step 1000, then 20%"
  double samples = 0.0;  // that the run takes of it
};
/// By source of data.sources; none if the data are not blended.
std::vector<SourcePlan> plan_sources(const Config& config);

/// A line per source for the start of a run that goes on with step `step` at sample `sample`:
/// files, tokens, share of the samples, and epochs at the end of the run.
std::vector<std::string> source_lines(const Config& config, const TrainingData& data,
                                      std::int64_t step, std::int64_t sample);
/// A warning for each source that the run repeats beyond worthwhile_epochs.
std::vector<std::string> repetition_warnings(const Config& config, const TrainingData& data,
                                             std::int64_t step, std::int64_t sample);

/// Epochs of each source before `sample`, by its name.
std::vector<std::pair<std::string, double>> source_epochs(const TrainingData& data,
                                                          std::int64_t sample);

}  // namespace triax
