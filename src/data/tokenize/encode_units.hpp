// SPDX-License-Identifier: Apache-2.0
#pragma once
// Encodes units into parts, on all threads of all ranks.
#include <functional>
#include <string>
#include <vector>

#include "kernels/base/mpi/agree.hpp"
#include "src/data/tokenize/units.hpp"

namespace triax {

/// Called on every rank a few times per second with the bytes read by all ranks so far.
using EncodeProgress = std::function<void(std::int64_t bytes)>;

/// Collective. Makes the parts that do not exist yet; with max_documents, at least those that hold
/// them. Returns the number of units that this rank found done. Error on all ranks where one fails.
std::int64_t encode_units(const EncodeJob& job, const Ranks& ranks, const EncodeProgress& progress);

}  // namespace triax
