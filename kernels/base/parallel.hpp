#pragma once
// Loops over the cores of a rank, by whatever host backend Kokkos was built with. Only the .cpp
// files of kernels include this, so that Kokkos stays out of every other header. Bodies must not
// allocate, and must give the same result in any order: kernels that sum do it in blocks of fixed
// size, never per thread.
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>

namespace triax {

/// Cores that a parallel loop runs on.
inline std::int64_t host_concurrency() {
  return std::max<std::int64_t>(1, Kokkos::DefaultHostExecutionSpace().concurrency());
}

/// body(i) for i in [0, n). Complete when it returns.
template <class Body>
void parallel_for(std::int64_t n, const Body& body) {
  using Space = Kokkos::DefaultHostExecutionSpace;
  if (n <= 0) return;
  Kokkos::parallel_for(Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(0, n), body);
  Space().fence();
}

/// body(begin, end) for consecutive ranges of at most `block` indices that cover [0, n).
template <class Body>
void parallel_for_blocks(std::int64_t n, std::int64_t block, const Body& body) {
  parallel_for((n + block - 1) / block,
               [=](std::int64_t b) { body(b * block, std::min(n, (b + 1) * block)); });
}

}  // namespace triax
