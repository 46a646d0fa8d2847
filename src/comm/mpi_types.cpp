#include "src/comm/mpi_types.hpp"

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
      return MPI_UINT16_T;  // with an operation of our own
    case DType::u16:
      break;
  }
  throw Error(fmt::format("MPI cannot reduce tensors of {}", name_of(type)),
              "nothing here asks for such sums", "Reduce in f32");
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

MPI_Op reduction_of(ReduceOp op, DType type, const Float16Sums& sums) {
  if (const MPI_Op sum = sums.of(type); sum != MPI_OP_NULL) {
    check(op == ReduceOp::sum, "the largest or smallest of {} elements", name_of(type));
    return sum;
  }
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
