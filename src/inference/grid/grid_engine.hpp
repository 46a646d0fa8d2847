// SPDX-License-Identifier: Apache-2.0
#pragma once
// An engine over all ranks of a grid.
#include <functional>

#include "src/inference/constraint/constraint.hpp"
#include "src/inference/engine/engine.hpp"
#include "src/inference/engine/engine_options.hpp"
#include "src/inference/grid_model.hpp"

namespace triax {

/// Calls `body` on rank 0 with an engine over all ranks of the model's grid: tensor and pipeline
/// ranks share each step, data ranks are replicas. The other ranks compute what it orders, asleep
/// while there is nothing to do, and return when body does. Collective. UsageError on all ranks
/// where the cache does not fit, the options are wrong, or the model lies on GPUs. An exception of
/// `body` passes on rank 0. `token_bytes`, called on the first rank of each replica: see
/// TokenConstraints.
void with_engine(GridModel& model, const EngineOptions& options,
                 const std::function<void(Engine&)>& body, const TokenBytes& token_bytes = {});

}  // namespace triax
