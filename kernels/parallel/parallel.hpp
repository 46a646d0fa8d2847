// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops over the cores of a rank, by Kokkos' host backend where it has threads, else by OpenMP,
// whose threads oneDNN uses too. Bodies must not allocate or throw, and must give the same result
// in any order: kernels sum in fixed-size chunks, never per thread.
#include <algorithm>
#include <cstdint>

namespace triax {

/// Threads of a parallel loop started here; 1 inside such a loop.
std::int64_t host_concurrency();

namespace detail {
/// Calls loop(body, begin, end) with one consecutive range of [0, n) per thread.
void run_on_threads(std::int64_t n, void (*loop)(const void*, std::int64_t, std::int64_t),
                    const void* body);
}  // namespace detail

/// body(i) for i in [0, n). Complete when it returns.
template <class Body>
void parallel_for(std::int64_t n, const Body& body) {
  const auto loop = [](const void* of, std::int64_t begin, std::int64_t end) {
    const Body call = *static_cast<const Body*>(of);  // a copy: no store of the loop can change it
    for (std::int64_t i = begin; i < end; ++i) call(i);
  };
  detail::run_on_threads(n, loop, &body);
}

/// body(begin, end) for consecutive ranges of at most `block` indices that cover [0, n).
template <class Body>
void parallel_for_blocks(std::int64_t n, std::int64_t block, const Body& body) {
  parallel_for((n + block - 1) / block,
               [=](std::int64_t b) { body(b * block, std::min(n, (b + 1) * block)); });
}

}  // namespace triax
