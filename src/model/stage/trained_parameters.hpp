// SPDX-License-Identifier: Apache-2.0
#pragma once
// Trained and frozen parameters of a whole model (the job's keys freeze and train_only).
#include <cstdint>

#include "src/config/config.hpp"

namespace triax {

/// UsageError if a pattern of freeze or train_only stands for no tensor of the model, or if all
/// tensors are frozen.
void check_trainability(const ModelConfig& model);

/// Elements of a model's tensors; tied ones count once.
struct TrainedParameters {
  std::int64_t trained = 0, all = 0;
};
TrainedParameters trained_parameters(const ModelConfig& model);

/// FLOPs of training_flops_per_token() that frozen parameters save: products for their gradients,
/// and the backward passes of blocks before the first trained parameter.
double saved_flops_per_token(const ModelConfig& model, std::int64_t sequence_length);

}  // namespace triax
