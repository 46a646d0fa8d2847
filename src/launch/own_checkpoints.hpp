// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whose the checkpoints of checkpoint.directory are.
#include "src/config/config.hpp"

namespace triax {

/// Whether a run writes checkpoints without being asked by a signal.
bool writes_checkpoints(const CheckpointConfig& checkpoint);

/// Whether the checkpoints' directory is this run's alone: it writes there, and has it locked, or
/// it lies in run.directory. Else it may be another's, from whose files this run begins.
bool owns_checkpoints(const Config& config);

}  // namespace triax
