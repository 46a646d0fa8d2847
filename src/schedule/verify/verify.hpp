#pragma once
// Proves that the plans of all stages run to the end, and that nothing is used before it is there,
// used twice, or left behind.
#include <vector>

#include "src/schedule/plan.hpp"

namespace triax {

enum class PlanUse { training, evaluation };

/// Runs all stages in simulation under rendezvous semantics, the stricter case: a send completes
/// only when its receive is posted. TiedSum and GradientNorm wait for the stages that take part.
/// Proven are
///   - compute: each (chunk, layer, microbatch) has its Forward and (training) its Backward exactly
///     once, on data that is there and not in flight; no compute stands between a Recompute and its
///     Backward
///   - buffers: none is acquired or released twice, used after its release, or left in use
///   - messages: each is sent once, received once and waited for at both ends, none for ever; where
///     they match by their order, each send meets its receive, and no stage would wait for ever if
///     it did one thing after another, an exchange as a whole among them
///   - blocks: each sees the instructions that the shape asks for, in OpKind's order, the first one
///     after the last backward that writes it; one GradientNorm a stage, after all compute
///   - form: fields are in range, and 0 where they are not used
/// Independent instructions may stand in any order. Returns each stage's peaks.
/// std::logic_error where something is wrong, as in "stage 1, op 37 (B c0 l3 m2): frame is not
/// resident"; std::invalid_argument (a logic_error too) where the shape is wrong.
std::vector<Peaks> verify(const Plans& plans, const PlanShape& shape, PlanUse use);

}  // namespace triax
