// SPDX-License-Identifier: Apache-2.0
#pragma once
// Position of a run in the sources of its training data: written into checkpoints, and restored
// for a job that may have other weights or other sources.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_header.hpp"
#include "src/config/load/load.hpp"
#include "src/data/mixture/training_data.hpp"

namespace triax {

/// State of the training data at sample `sample` as JSON; empty for data of one source, whose state
/// is the number of the sample.
std::string data_state_text(const TrainingData& data, std::int64_t sample);

/// `job`, the text of job_for_checkpoint, with data_state_text() added.
std::string with_data_state(const std::string& job, const std::string& state);

/// Where a resumed run goes on in its training data.
struct DataStart {
  std::int64_t sample = 0;                // number of the next sample
  std::optional<BlendState> state = {};   // none: one source, at that sample
  std::vector<std::string> changes = {};  // a line for each change since the checkpoint
};

/// Each source goes on behind the samples that the checkpoint's run used of the same files. Other
/// sources begin anew. Where weights, sources or the length of samples have changed, the blend
/// begins again with the counts as they are.
DataStart resume_data(const CheckpointHeader& header, const LoadedJob& job,
                      const TrainingData& data);

/// `state` with the weights that the job has from step `step` on, which begins at its sample:
/// `state` itself where these are the weights it goes on with.
BlendState with_weights(BlendState state, const Config& config, std::int64_t step);

}  // namespace triax
