#pragma once
// One kind of code (kernels/isa/isa.hpp) for all ranks of a job: what ranks compute alike, each
// for itself, must come out alike to the last bit.
#include <mpi.h>

#include <span>
#include <string>

#include "kernels/isa/isa.hpp"

namespace triax {

/// Has every rank use the last kind that all ranks of `world` have. What the code is for, in words:
/// "code for AVX2, since 2 of 8 ranks have no more". Collective, without spinning.
std::string agree_on_isa(MPI_Comm world);

/// The last kind that all have, of which ranks[kind] have that kind and none beyond it.
Isa common_isa(std::span<const int, isa_kinds> ranks);

}  // namespace triax
