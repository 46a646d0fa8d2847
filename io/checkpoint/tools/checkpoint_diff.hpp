#pragma once
// `triax checkpoint diff`: in what two checkpoints differ.
#include <string>

#include "kernels/base/mpi/agree.hpp"

namespace triax {

struct CheckpointDifference {
  bool tensors = false;     // any value, type, shape or name
  bool attributes = false;  // any attribute of the root
  std::string text;         // a table, or JSON
};

/// For each tensor that differs: the largest absolute difference, the largest relative one
/// (|a - b| / max(|a|, |b|)), and how many elements differ; tensors of one file alone; tensors
/// whose shape or type differ; attributes that differ. Two NaNs are equal; a NaN beside a number
/// differs by infinity. Collective: the ranks share out the reading; the result is the same on
/// every rank. Error as CheckpointReader's.
CheckpointDifference diff_checkpoints(const std::string& a, const std::string& b, bool json,
                                      const Ranks& ranks = MPI_COMM_NULL);

}  // namespace triax
