// SPDX-License-Identifier: Apache-2.0
#pragma once
// Differences between a resumed run and the run that wrote its checkpoint.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_header.hpp"
#include "io/tokens/sample_reader.hpp"
#include "src/config/load/load.hpp"

namespace triax {

/// Integer at a dotted key of a checkpoint's job (CheckpointHeader::job); nothing if the key is
/// absent, as in an imported checkpoint.
std::optional<std::int64_t> saved_integer(const std::string& job, const std::string& key);

/// Job text for a checkpoint: `resolved` with the number of tokens of the training data (the files
/// may change under the same name), LossSpikes::state(), starts_text(), tokenizer_text() and
/// BestLoss::state() added.
/// They are keys of the job instead of HDF5 attributes, because an older triax treats a file with
/// an unknown attribute as damaged.
std::string job_for_checkpoint(const std::string& resolved, std::int64_t tokens,
                               const std::string& losses = {}, const std::string& starts = {},
                               const std::string& tokenizer = {},
                               const std::string& validation = {});

/// LossSpikes::state() from the checkpoint; empty if it has none or was written with other training
/// data.
std::string resume_losses(const CheckpointHeader& header, const std::string& resolved);

/// BestLoss::state() from the checkpoint; empty if it has none or was written with other validation
/// data, whose losses cannot be compared.
std::string resume_validation(const CheckpointHeader& header, const std::string& resolved);

/// Key of data_state_text() in the section "triax" of a checkpoint's job.
inline constexpr const char* data_state_key = "data_state";

/// Whether a run blends its training data, or goes on with one source of a run that did so: then
/// resume_data() finds its first sample, and tells the changes of its data.
bool blends_data(const CheckpointHeader& header, const DataConfig& data);

/// Index of the first sample of the resumed run, converted from CheckpointHeader::samples if
/// data.seq_length has changed. The sample begins at the token where the old samples end, or after
/// it.
std::int64_t resume_sample(const CheckpointHeader& header, const DataConfig& data,
                           const SampleReader& reader);

/// Number of samples of `here` tokens that holds the first `samples` of `there` tokens.
std::int64_t samples_of_length(std::int64_t samples, std::int64_t there, std::int64_t here,
                               const SampleReader& reader);

/// One line per change that affects the steps of the resumed run: of the job, the model, the
/// training data of one source (see resume_data), the learning rate. `update`: number of optimizer
/// updates so far.
std::vector<std::string> resume_changes(const CheckpointHeader& header, const LoadedJob& job,
                                        const SampleReader& reader, std::int64_t update);

/// Whether the job may compute other losses from the checkpoint's weights than the run that wrote
/// it: another precision, loss or model.
bool computes_other_losses(const CheckpointHeader& header, const LoadedJob& job);

}  // namespace triax
