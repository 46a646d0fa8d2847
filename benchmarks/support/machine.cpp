#include "benchmarks/support/machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "kernels/base/simd.hpp"

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

}  // namespace

double measure_fma_peak() {
  // Two pipes of four cycles need eight independent chains; twelve also fit the smaller register
  // file.
  constexpr std::size_t chains = 12;
  constexpr std::int64_t rounds = 1'000'000;
  const FloatVector factor = FloatVector{} + 0.999F;
  const FloatVector addend = FloatVector{} + 0.001F;
  volatile float keep = 0.0F;
  const double seconds = best_seconds([&] {
    FloatVector sum[chains];
#pragma GCC unroll 12
    for (std::size_t i = 0; i < chains; ++i) sum[i] = FloatVector{} + keep + static_cast<float>(i);
    for (std::int64_t round = 0; round < rounds; ++round)
#pragma GCC unroll 12
      for (std::size_t i = 0; i < chains; ++i) sum[i] = sum[i] * factor + addend;
#pragma GCC unroll 12
    for (std::size_t i = 0; i < chains; ++i) keep = keep + sum[i][0];
  });
  return 2.0 * static_cast<double>(chains * vector_floats) * static_cast<double>(rounds) / seconds;
}

double measure_triad_bandwidth() {
  constexpr std::size_t count = std::size_t{32} << 20U;  // 128 MiB an array
  std::vector<float> a(count, 0.0F);
  const std::vector<float> b(count, 1.0F);
  const std::vector<float> c(count, 2.0F);
  const double seconds = best_seconds([&] {
    for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + 3.0F * c[i];
    asm volatile("" : : "r"(a.data()) : "memory");
  });
  return 3.0 * sizeof(float) * static_cast<double>(count) / seconds;
}

}  // namespace triax::benchmark
