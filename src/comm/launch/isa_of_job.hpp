// SPDX-License-Identifier: Apache-2.0
#pragma once
// One ISA level (kernels/isa/isa.hpp) for all ranks of a job. Values that several ranks compute for
// themselves (updates of replicated state, norms between tensor ranks) must be equal bit for bit.
#include <mpi.h>

#include <span>
#include <string>

#include "kernels/isa/isa.hpp"

namespace triax {

/// Sets every rank to common_isa() of the ranks of `world`. Returns its description: "code for
/// AVX2, since 2 of 8 ranks have no more". Collective; waits without spinning.
std::string agree_on_isa(MPI_Comm world);

/// Highest ISA level every rank supports. ranks[k]: number of ranks whose best level is k.
Isa common_isa(std::span<const int, isa_kinds> ranks);

}  // namespace triax
