// SPDX-License-Identifier: Apache-2.0
#pragma once
// Optimizer states in a checkpoint, which another optimizer may have written. States carry over by
// name, each with the state that scales it; the others start from zero.
#include <cstdint>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/state/optimizer/optimizer.hpp"

namespace triax {

/// Key of starts_text() in the section "triax" of a checkpoint's job.
inline constexpr const char* starts_key = "optimizer_starts";

/// HDF5 group of a state: "/optimizer/exp_avg/", or "/average/".
std::string state_group(const StateKind& state);
/// The same of a state of saved_states().
std::string state_group(const std::string& state);
/// HDF5 group of the running average of the weights.
inline constexpr const char* average_group = "/average/";
/// Whether a file has an average of the weights.
bool has_average(const CheckpointReader& reader);
/// UsageError if it has none.
void require_average(const CheckpointReader& reader);
/// Names of the states in /optimizer that a file has, sorted. An imported checkpoint has none.
std::vector<std::string> saved_states(const CheckpointReader& reader);

/// By state: whether a file with the states `saved` restores it. A state that starts as the weights
/// is always restored: from the file, or from the weights there.
std::vector<bool> carried_states(const std::vector<std::string>& saved,
                                 const std::vector<StateKind>& states);

/// Optimizer::starts() by name of the state, and in "tensors" tensor_starts(), as JSON; empty if
/// all are 0.
std::string starts_text(const Optimizer& optimizer);
/// Starts of `states` restored from a file that was written after `updates` updates.
Optimizer::Starts starts_of(const CheckpointReader& reader, const std::vector<StateKind>& states,
                            std::int64_t updates);
/// The same of the tensors that `model` trains: those that lack one of `states` that others have
/// there, being frozen or stepped otherwise, start now.
TensorStarts tensor_starts_of(const CheckpointReader& reader, const ModelConfig& model,
                              const std::vector<StateKind>& states, std::int64_t updates);
/// States that the optimizer keeps whose job wrote the file; none where the job does not say.
std::vector<StateKind> states_of_writer(const CheckpointReader& reader);
/// Whether a file must have the state of a tensor, if the tensor was trained. `written`:
/// states_of_writer.
bool has_saved_state(const std::vector<StateKind>& written, const std::string& state,
                     const GlobalTensor& tensor);

/// One line if the average of the weights begins or is dropped on a resume; empty: neither.
std::string average_text(const CheckpointReader& reader, const std::vector<StateKind>& states);

/// Which of `states` continue from the file, start from zero, and which of its states are dropped;
/// empty if all continue, or if the file has none.
std::string state_text(const CheckpointReader& reader, const std::vector<StateKind>& states);

}  // namespace triax
