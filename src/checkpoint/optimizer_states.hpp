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

/// HDF5 group of a state: "/optimizer/exp_avg/".
std::string state_group(const std::string& state);
/// Names of the states that a file has, sorted. An imported checkpoint has none.
std::vector<std::string> saved_states(const CheckpointReader& reader);

/// By state: whether a file with the states `saved` restores it.
std::vector<bool> carried_states(const std::vector<std::string>& saved,
                                 const std::vector<StateKind>& states);

/// Optimizer::starts() by name of the state, and in "tensors" tensor_starts(), as JSON; empty if
/// all are 0.
std::string starts_text(const Optimizer& optimizer);
/// Starts of `states` restored from a file that was written after `updates` updates.
Optimizer::Starts starts_of(const CheckpointReader& reader, const std::vector<StateKind>& states,
                            std::int64_t updates);
/// The same of the tensors that `model` trains: those that are frozen in the file start now.
TensorStarts tensor_starts_of(const CheckpointReader& reader, const ModelConfig& model,
                              std::int64_t updates);

/// Which of `states` continue from the file, start from zero, and which of its states are dropped;
/// empty if all continue, or if the file has none.
std::string state_text(const CheckpointReader& reader, const std::vector<StateKind>& states);

}  // namespace triax
