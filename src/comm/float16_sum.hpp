#pragma once
// The sum of 16-bit floating-point elements as MPI operations: MPI has neither the types nor their
// arithmetic.
#include <mpi.h>

#include "kernels/base/dtype.hpp"

namespace triax {

class Float16Sums {
 public:
  Float16Sums();
  ~Float16Sums();
  Float16Sums(const Float16Sums&) = delete;
  Float16Sums& operator=(const Float16Sums&) = delete;

  /// For messages of MPI_UINT16_T that hold bf16 or f16: each sum of two elements is made in
  /// float32 and rounded to nearest even. MPI_OP_NULL for other types.
  MPI_Op of(DType type) const;

 private:
  MPI_Op bf16_ = MPI_OP_NULL;
  MPI_Op f16_ = MPI_OP_NULL;
};

}  // namespace triax
