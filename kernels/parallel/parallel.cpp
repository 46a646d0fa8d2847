// SPDX-License-Identifier: Apache-2.0
#include "kernels/parallel/parallel.hpp"

#include <omp.h>

#include <Kokkos_Core.hpp>
#include <atomic>

namespace triax {
namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

std::int64_t kokkos_threads() {
  return std::int64_t{Space().concurrency()};
}

}  // namespace

std::int64_t host_concurrency() {
  if (omp_in_parallel() != 0) return 1;
  return std::max<std::int64_t>({1, kokkos_threads(), omp_get_max_threads()});
}

// Always uses all threads, even if some have nothing to do: OpenMP ends threads when a loop takes
// fewer, and starts them again later.
void detail::run_on_threads(std::int64_t n, void (*loop)(const void*, std::int64_t, std::int64_t),
                            const void* body) {
  const std::int64_t threads = host_concurrency();
  const auto part = [=](std::int64_t begin, std::int64_t end) {
    loop(body, begin, end);
    // Orders the loop's stores past the caches (simd/past_caches.hpp) before later stores. C++ does
    // not promise this for them; the x86 instruction that compilers emit here does.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  };
  if (n <= 1 || threads <= 1) return part(0, n);
  const auto range = [=](std::int64_t thread) {
    part(n * thread / threads, n * (thread + 1) / threads);
  };
  if (kokkos_threads() > 1) {
    Kokkos::parallel_for(Kokkos::RangePolicy<Space>(0, threads), range);
    Space().fence();
    return;
  }
#pragma omp parallel for schedule(static, 1)
  for (std::int64_t thread = 0; thread < threads; ++thread) range(thread);
}

}  // namespace triax
