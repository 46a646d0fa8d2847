#pragma once
// Proves that the plans of all stages run to the end, and that nothing is used before it is there,
// used twice, or left behind.
#include <vector>

#include "src/schedule/plan.hpp"

namespace triax {

enum class PlanUse { training, evaluation };

/// Runs all stages in simulation under rendezvous semantics (a send completes only when its receive is
/// posted), the stricter case. Returns each stage's peaks.
/// std::logic_error with stage, position and instruction where something is wrong.
std::vector<Peaks> verify(const Plans& plans, const PlanShape& shape, PlanUse use);

}  // namespace triax
