#pragma once
// The elements and sums of triax in the terms of MPI.
#include <mpi.h>

#include "src/comm/interface/communicator.hpp"

namespace triax {

/// Elements that MPI reduces; an Error for u16, which nothing sums, and for bf16 and f16, which MPI
/// does not know.
MPI_Datatype reducible_type(DType type);

/// Elements that MPI moves: only their width counts, and wide ones keep the counts low.
MPI_Datatype movable_type(DType type);

MPI_Op reduction_of(ReduceOp op);

}  // namespace triax
