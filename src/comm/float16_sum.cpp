#include "src/comm/float16_sum.hpp"

#include "kernels/base/float16.hpp"
#include "src/comm/mpi_error.hpp"

namespace triax {
namespace {

// The signature is MPI's.
template <class T>
void add(void* in, void* inout, int* count, MPI_Datatype*) {
  const T* from = static_cast<const T*>(in);
  T* to = static_cast<T*>(inout);
  const int n = *count;
#pragma omp simd
  for (int i = 0; i < n; ++i) to[i] = static_cast<float>(to[i]) + static_cast<float>(from[i]);
}

MPI_Op operation(MPI_User_function* function) {
  constexpr int commutes = 1;
  MPI_Op made = MPI_OP_NULL;
  check_mpi(MPI_Op_create(function, commutes, &made), "MPI_Op_create", "this process");
  return made;
}

}  // namespace

Float16Sums::Float16Sums() : bf16_(operation(add<Bf16>)), f16_(operation(add<F16>)) {}

Float16Sums::~Float16Sums() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  MPI_Op_free(&bf16_);
  MPI_Op_free(&f16_);
}

MPI_Op Float16Sums::of(DType type) const {
  if (type == DType::bf16) return bf16_;
  return type == DType::f16 ? f16_ : MPI_OP_NULL;
}

}  // namespace triax
