// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory pools of the buffers of a stage's layers: those of one size share a pool.
#include <vector>

#include "src/model/stage/stage.hpp"

namespace triax {

/// PlanShape::frame_pool of a stage.
std::vector<std::vector<int>> frame_pools(const Stage& stage, const BatchShape& shape);
/// PlanShape::operand_pool of a stage, whose frames have the pools `frames`.
std::vector<std::vector<int>> operand_pools(const Stage& stage, const BatchShape& shape,
                                            const std::vector<std::vector<int>>& frames);

}  // namespace triax
