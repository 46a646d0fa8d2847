// SPDX-License-Identifier: Apache-2.0
#pragma once
// Changes since the checkpoint that a run resumes was written.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_header.hpp"
#include "io/tokens/token_reader.hpp"
#include "src/config/load/load.hpp"

namespace triax {

/// The number under a dotted key of a checkpoint's job (CheckpointHeader::job); nothing where it is
/// not there, as in a file that was imported.
std::optional<std::int64_t> saved_integer(const std::string& job, const std::string& key);

/// The text of a job for a checkpoint: with the tokens of its training data, which may be others
/// under the same name when the run goes on, and LossSpikes::state(). Both stand in the job and not
/// in attributes of their own: an older triax takes a file with an attribute that it does not know
/// for damaged.
std::string job_for_checkpoint(const std::string& resolved, std::int64_t tokens,
                               const std::string& losses = {});

/// The LossSpikes::state() that the run goes on with; empty where the file has none, or losses of
/// other training data.
std::string resume_losses(const CheckpointHeader& header, const std::string& resolved);

/// The sample that the run goes on with: CheckpointHeader::samples are of the sequence length that
/// they were taken with. The next sample begins where they end, or behind that.
std::int64_t resume_sample(const CheckpointHeader& header, const DataConfig& data,
                           const TokenReader& reader);

/// A line for each change that the run follows from step to step: of the job, the model's dropout,
/// the training data. `update`: updates made, which the learning rate goes by.
std::vector<std::string> resume_changes(const CheckpointHeader& header, const LoadedJob& job,
                                        const TokenReader& reader, std::int64_t update);

}  // namespace triax
