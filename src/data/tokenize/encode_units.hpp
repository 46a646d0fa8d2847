// SPDX-License-Identifier: Apache-2.0
#pragma once
// Encodes units into parts, on all threads of all ranks.
#include "src/data/tokenize/encode_job.hpp"
#include "src/data/units/unit_threads.hpp"

namespace triax {

/// Collective. Makes the parts that do not exist yet; with max_documents, at least those that hold
/// them. Returns the number of units that this rank found done. Error on all ranks where one fails.
std::int64_t encode_units(const EncodeJob& job, const Ranks& ranks, const UnitProgress& progress);

}  // namespace triax
