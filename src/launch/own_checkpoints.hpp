// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ownership of the checkpoints in checkpoint.directory.
#include "src/config/config.hpp"

namespace triax {

/// Whether a run writes checkpoints without a signal.
bool writes_checkpoints(const CheckpointConfig& checkpoint);

/// Whether checkpoint.directory belongs to this run: the run writes there, or it lies in
/// run.directory. Otherwise it may belong to another run, from whose checkpoints this one starts.
bool owns_checkpoints(const Config& config);

}  // namespace triax
