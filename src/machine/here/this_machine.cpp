// SPDX-License-Identifier: Apache-2.0
#include "src/machine/here/this_machine.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>
#include <vector>

#include "kernels/matmul/matmul.hpp"
#include "kernels/parallel/parallel.hpp"
#include "src/forecast/memory_limit.hpp"

namespace triax {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double long_enough = 0.3;  // seconds of a measurement
constexpr double large = 1024.0, small = 128.0;

// Least seconds of a call: what the machine can do when nothing disturbs it.
double least_seconds(const std::function<void()>& body) {
  body();  // compiles, and touches memory
  double least = 0.0;
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(long_enough));
  do {
    const Clock::time_point begin = Clock::now();
    body();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (least == 0.0 || seconds < least) least = seconds;
  } while (Clock::now() < end);
  return least;
}

// FLOP/s of a square product.
double product_rate(double side, DType type) {
  const auto n = static_cast<std::int64_t>(side);
  const std::size_t bytes = static_cast<std::size_t>(n * n) * size_of(type);
  std::vector<char> a(bytes), b(bytes), c(bytes);
  const Stream stream(MemorySpace::host);
  const Shape shape{n, n};
  const double seconds = least_seconds([&] {
    matmul(stream, Tensor(c.data(), type, shape), Tensor(a.data(), type, shape),
           Tensor(b.data(), type, shape));
  });
  return 2.0 * side * side * side / seconds;
}

// Bytes read and written per second by sums of arrays beyond the caches, on all cores at once.
double memory_rate(int cores) {
  constexpr std::size_t elements = std::size_t{1} << 23;
  const auto sum = [] {
    std::vector<float> x(elements, 1.0F), y(elements, 2.0F);
    return least_seconds([&] {
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
  const double f32 = product_rate(large, DType::f32);
  Efficiency& e = m.efficiency;
  e.half_side = half_side_of(small, product_rate(small, DType::f32), large, f32);
  e.products = e.memory = e.network = 1.0;  // the peaks are measured
  // A product without short sides.
  const double whole = std::pow((large + e.half_side) / large, 3.0);
  m.f32_flops = m.f16_flops = share * whole * f32;
  m.bf16_flops = share * whole * product_rate(large, DType::bf16);
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
