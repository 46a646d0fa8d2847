// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages of any length between two ranks.
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// A peer that nothing is sent to, or received from.
inline constexpr int no_peer = MPI_PROC_NULL;

/// Collective over `ranks`: sends `bytes` to rank `to`, and returns what rank `from` sends to this
/// rank; `to` of one is `from` of the other. Error on all ranks where one has no memory for it.
/// Waiting yields the core.
std::vector<std::byte> exchange_bytes(const Ranks& ranks, std::span<const std::byte> bytes, int to,
                                      int from);

}  // namespace triax
