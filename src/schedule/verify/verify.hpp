// SPDX-License-Identifier: Apache-2.0
#pragma once
// Proof that the plans of all stages run to the end, and that no buffer is used before it is valid,
// used twice, or left behind.
#include <vector>

#include "src/schedule/plan.hpp"

namespace triax {

enum class PlanUse { training, evaluation };

/// Runs all stages in simulation under rendezvous semantics, the stricter case: a send completes
/// only when its receive is posted. TiedSum and GradientNorm wait for the stages that take part. It
/// proves:
///   - compute: each (chunk, layer, microbatch) has its Forward and (training) its Backward exactly
///     once, on data that is valid and not in flight; no compute stands between a Recompute and its
///     Backward
///   - buffers: none is acquired or released twice, used after its release, or left in use
///   - messages: each is sent once, received once and waited for at both ends, and none forever; if
///     they match by order, each send meets its receive, and no stage would wait forever if it did
///     one thing at a time, an exchange counting as one thing
///   - blocks: each sees the instructions that the shape asks for, in OpKind's order, the first one
///     after the last backward that writes it; one GradientNorm per stage, after all compute
///   - form: fields are in range, and 0 if unused
/// Independent instructions may stand in any order. Returns each stage's peaks. Throws
/// std::logic_error for a wrong plan, as in "stage 1, op 37 (B c0 l3 m2): frame is not resident",
/// and std::invalid_argument (a logic_error too) for a wrong shape.
std::vector<Peaks> verify(const Plans& plans, const PlanShape& shape, PlanUse use);

}  // namespace triax
