// SPDX-License-Identifier: Apache-2.0
#include "src/comm/mpi/mpi_types.hpp"

#include "kernels/base/check.hpp"

namespace triax {

MPI_Datatype reducible_type(DType type) {
  switch (type) {
    case DType::f32:
      return MPI_FLOAT;
    case DType::f64:
      return MPI_DOUBLE;
    case DType::i32:
      return MPI_INT32_T;
    case DType::i64:
      return MPI_INT64_T;
    case DType::u8:
      return MPI_UINT8_T;
    case DType::bf16:
    case DType::f16:
    case DType::u16:
      break;
  }
  throw Error(fmt::format("MPI cannot reduce tensors of {}", name_of(type)),
              "it does not know their arithmetic", "Reduce in f32");
}

MPI_Datatype movable_type(DType type) {
  switch (size_of(type)) {
    case 8:
      return MPI_UINT64_T;
    case 4:
      return MPI_UINT32_T;
    case 2:
      return MPI_UINT16_T;
    default:
      return MPI_BYTE;
  }
}

MPI_Op reduction_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return MPI_SUM;
    case ReduceOp::max:
      return MPI_MAX;
    case ReduceOp::min:
      return MPI_MIN;
  }
  return MPI_OP_NULL;
}

}  // namespace triax
