// SPDX-License-Identifier: Apache-2.0
#pragma once
// `triax checkpoint diff`: compares two checkpoints.
#include <string>

#include "kernels/base/mpi/agree.hpp"

namespace triax {

struct CheckpointDifference {
  bool tensors = false;     // any value, type, shape or name
  bool attributes = false;  // any attribute of the root
  std::string text;         // a table, or JSON
};

/// Reports, for each tensor with different values, the largest absolute difference, the largest
/// relative one (|a - b| / max(|a|, |b|)) and the number of elements that differ; then tensors
/// whose shape or type differ, tensors in one file only, and attributes that differ. Two NaNs are
/// equal; a NaN and a number differ by infinity. Collective: each rank reads its share, and the
/// result is the same on every rank. Error as CheckpointReader's.
CheckpointDifference diff_checkpoints(const std::string& a, const std::string& b, bool json,
                                      const Ranks& ranks = MPI_COMM_NULL);

}  // namespace triax
