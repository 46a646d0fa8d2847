// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI datatypes and operations for DType and ReduceOp.
#include <mpi.h>

#include "src/comm/interface/communicator.hpp"

namespace triax {

/// Datatype for reductions. Error for u16, which is never summed, and for bf16 and f16, which MPI
/// does not know.
MPI_Datatype reducible_type(DType type);

/// Datatype for moving data: only the element's width matters, and wide elements keep counts low.
MPI_Datatype movable_type(DType type);

MPI_Op reduction_of(ReduceOp op);

}  // namespace triax
