// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "kernels/base/device/device.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/simd.hpp"

namespace triax::benchmark {
namespace {

constexpr int runs = 15;

template <class Body>
double best_seconds(Body body) {
  using Clock = std::chrono::steady_clock;
  double best = 1e30;
  for (int run = 0; run < runs; ++run) {
    const auto start = Clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

// Returns the sum of all accumulators, so that none is optimised away. The chains are independent
// of each other: two pipes with a latency of four cycles need eight; twelve also fit the smaller
// register file.
constexpr std::size_t chains = 12;
constexpr std::int64_t rounds = 1'000'000;

float multiply_adds(float start) {
  const FloatVector factor = FloatVector{} + 0.999F;
  const FloatVector addend = FloatVector{} + 0.001F;
  FloatVector sum[chains];
#pragma GCC unroll 12
  for (std::size_t i = 0; i < chains; ++i) sum[i] = FloatVector{} + start + static_cast<float>(i);
  for (std::int64_t round = 0; round < rounds; ++round)
#pragma GCC unroll 12
    for (std::size_t i = 0; i < chains; ++i) sum[i] = multiply_add(sum[i], factor, addend);
  float total = 0.0F;
#pragma GCC unroll 12
  for (std::size_t i = 0; i < chains; ++i) total += sum[i][0];
  return total;
}

}  // namespace

Measured measure_fma_peak() {
  const std::int64_t threads = host_concurrency();
  const double seconds = best_seconds([=] {
    parallel_for(threads, [](std::int64_t thread) {
      volatile float keep = multiply_adds(static_cast<float>(thread));
      static_cast<void>(keep);
    });
  });
  return {2.0 * static_cast<double>(chains * vector_floats) * static_cast<double>(rounds) *
              static_cast<double>(threads),
          seconds};
}

Measured measure_triad(std::int64_t array_bytes) {
  const auto count = array_bytes / static_cast<std::int64_t>(sizeof(float));
  constexpr std::int64_t block = std::int64_t{1} << 14U;
  const auto array = [=] {
    return Buffer::unwritten(static_cast<std::size_t>(count) * sizeof(float));
  };
  const Buffer memory[] = {array(), array(), array()};
  float* const a = static_cast<float*>(memory[0].data());
  float* const b = static_cast<float*>(memory[1].data());
  float* const c = static_cast<float*>(memory[2].data());
  // Pages are allocated where they are first written: near the thread that reads them.
  parallel_for_blocks(count, block, [=](std::int64_t begin, std::int64_t end) {
    std::fill(a + begin, a + end, 0.0F);
    std::fill(b + begin, b + end, 1.0F);
    std::fill(c + begin, c + end, 2.0F);
  });
  const double seconds = best_seconds([=] {
    parallel_for_blocks(count, block, [=](std::int64_t begin, std::int64_t end) {
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) a[i] = b[i] + 3.0F * c[i];
    });
    asm volatile("" : : "r"(a) : "memory");
  });
  return {3.0 * sizeof(float) * static_cast<double>(count), seconds};
}

}  // namespace triax::benchmark
