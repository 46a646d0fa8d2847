// SPDX-License-Identifier: Apache-2.0
#pragma once
// `triax checkpoint average`: the weights of several checkpoints of a model, averaged.
#include <cstdint>
#include <string>
#include <vector>

#include "io/files/durable.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "kernels/base/tensor.hpp"

namespace triax {

struct AverageSummary {
  std::int64_t tensors = 0, bytes = 0;  // of the weights
  std::int64_t step = 0;                // of the newest file, which the average has too
  DType type = DType::f32;
};

/// Writes a checkpoint at `out` with the weighted mean of the weights of `files`, and the newest
/// file's step, job and tokenizer. It has no optimizer state. The mean is computed in double, from
/// the float32 weights (/master) where all files have them, and written in the type of the first
/// file; /master is written beside 16-bit weights. `shares`: one per file, or empty: equal; they
/// are divided by their sum.
///
/// Collective. UsageError if the files are not of one model, or the shares do not fit; Error if
/// data are damaged or not finite.
AverageSummary average_checkpoints(const std::vector<std::string>& files,
                                   const std::vector<double>& shares, const std::string& out,
                                   Existing existing, const Ranks& ranks);

}  // namespace triax
