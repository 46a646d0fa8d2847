#include "src/comm/float16_sum.hpp"

#include <array>

#include "src/comm/mpi_error.hpp"
#include "src/comm/rank_order_sum.hpp"

namespace triax {
namespace {

// The signature is MPI's.
template <DType type>
void add(void* in, void* inout, int* count, MPI_Datatype*) {
  auto* const to = static_cast<std::byte*>(inout);
  const std::array<const std::byte*, 2> from = {to, static_cast<const std::byte*>(in)};
  rank_order_sum(type, from, to, nullptr, *count * static_cast<std::int64_t>(size_of(type)));
}

MPI_Op operation(MPI_User_function* function) {
  constexpr int commutes = 1;
  MPI_Op made = MPI_OP_NULL;
  check_mpi(MPI_Op_create(function, commutes, &made), "MPI_Op_create", "this process");
  return made;
}

}  // namespace

Float16Sums::Float16Sums() : bf16_(operation(add<DType::bf16>)), f16_(operation(add<DType::f16>)) {}

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
