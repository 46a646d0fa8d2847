#pragma once
// The elements and sums of triax in the terms of MPI.
#include <mpi.h>

#include "src/comm/communicator.hpp"
#include "src/comm/float16_sum.hpp"

namespace triax {

/// Elements that MPI reduces; an Error for u16, which nothing sums. bf16 and f16 need the operation
/// of reduction_of.
MPI_Datatype reducible_type(DType type);

/// Elements that MPI moves: only their width counts, and wide ones keep the counts low.
MPI_Datatype movable_type(DType type);

/// `sums`, which lives as long as the operation is used, knows those of bf16 and f16: sums only.
MPI_Op reduction_of(ReduceOp op, DType type, const Float16Sums& sums);

}  // namespace triax
