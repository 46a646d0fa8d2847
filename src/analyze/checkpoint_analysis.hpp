// SPDX-License-Identifier: Apache-2.0
#pragma once
// Norms, singular values and drift of the weights of checkpoints.
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/mpi/agree.hpp"
#include "kernels/base/tensor.hpp"

namespace triax {

/// A tensor in one checkpoint.
struct TensorAnalysis {
  double norm = 0.0, largest = 0.0;  // L2 norm; largest magnitude
  double bad = 0.0;              // elements that are not finite; the other numbers leave them out
  std::vector<double> singular;  // of a matrix without them: the largest, in order
  double drift = 0.0;            // L2 norm of the change since the first checkpoint
  /// |A|_F^2 / sigma_1^2: a lower bound of the rank that few large values do not raise. 0: unknown.
  double stable_rank() const;
  /// Number of leading singular values with 90% of the squared norm; 0: more than were computed.
  int rank90() const;
};

struct AnalyzedTensor {
  std::string name;
  Shape shape;
  std::vector<TensorAnalysis> files;  // one per checkpoint
};

struct CheckpointAnalysis {
  std::vector<std::string> files;
  std::vector<std::int64_t> steps;
  std::vector<AnalyzedTensor> tensors;
};

/// Analyzes the weights (/model) of checkpoints of one model; with `optimizer` also all other
/// float tensors. `values`: singular values per matrix, 0: none. Collective: the ranks share the
/// tensors, and each holds two of them at a time. UsageError if the files are not of one model.
CheckpointAnalysis analyze_checkpoints(const std::vector<std::string>& files, bool optimizer,
                                       int values, const Ranks& ranks);

std::string analysis_text(const CheckpointAnalysis& analysis);
std::string analysis_json(const CheckpointAnalysis& analysis);

}  // namespace triax
