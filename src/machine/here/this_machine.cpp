// SPDX-License-Identifier: Apache-2.0
#include "src/machine/here/this_machine.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "kernels/parallel/parallel.hpp"
#include "src/forecast/memory_limit.hpp"
#include "src/machine/here/product_rate.hpp"

namespace triax {
namespace {

constexpr double long_enough = 0.3;  // seconds of a measurement
constexpr double large = 1024.0, small = 128.0;

// FLOP/s of a square product.
double square_rate(double side, DType type) {
  const auto n = static_cast<std::int64_t>(side);
  return product_rate({n, n, n}, type, MemorySpace::host, long_enough);
}

// Bytes read and written per second by sums of arrays beyond the caches, on all cores at once.
double memory_rate(int cores) {
  constexpr std::size_t elements = std::size_t{1} << 23;
  const auto sum = [] {
    std::vector<float> x(elements, 1.0F), y(elements, 2.0F);
    return least_seconds(long_enough, [&] {
      for (std::size_t i = 0; i < elements; ++i) y[i] += x[i];
    });
  };
  std::vector<double> seconds(static_cast<std::size_t>(cores));
  std::vector<std::thread> threads;
  for (double& own : seconds) threads.emplace_back([&own, &sum] { own = sum(); });
  for (std::thread& thread : threads) thread.join();
  return cores * 3.0 * elements * sizeof(float) / *std::ranges::max_element(seconds);
}

}  // namespace

double half_side_of(double small_side, double small_rate, double large_side, double large_rate) {
  // s / (s + h) * (l + h) / l = share
  const double share = std::cbrt(small_rate / large_rate);
  const double h = small_side * large_side * (1.0 - share) / (share * large_side - small_side);
  return std::isfinite(h) ? std::max(0.0, h) : 0.0;
}

Machine this_machine(int ranks) {
  const auto cores = static_cast<int>(host_concurrency());
  Machine m;
  m.name = "this";
  m.space = MemorySpace::host;
  m.ranks_per_node = ranks > 0 ? ranks : cores;
  const double share = 1.0 / m.ranks_per_node;
  const double f32 = square_rate(large, DType::f32);
  Efficiency& e = m.efficiency;
  e.half_side = half_side_of(small, square_rate(small, DType::f32), large, f32);
  e.products = e.memory = e.network = 1.0;  // the peaks are measured
  // A product without short sides.
  const double whole = std::pow((large + e.half_side) / large, 3.0);
  m.f32_flops = m.f16_flops = share * whole * f32;
  m.bf16_flops = share * whole * square_rate(large, DType::bf16);
  m.memory_bandwidth = share * memory_rate(cores);
  m.memory = node_limit().bytes / m.ranks_per_node;
  m.host_memory = node_limit().bytes;
  m.inside = {m.memory_bandwidth / 3.0, 2e-6};
  m.between = {1e9 / m.ranks_per_node, 3e-5};
  e.attention = 0.5;
  e.overlap = 0.0;
  e.kernel_seconds = 2e-6;
  return m;
}

}  // namespace triax
