// SPDX-License-Identifier: Apache-2.0
#include "src/machine/here/product_rate.hpp"

#include <chrono>

#include "kernels/matmul/matmul.hpp"

namespace triax {

double product_rate(const ProductSize& size, DType type, MemorySpace space, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return Buffer(static_cast<std::size_t>(rows * columns) * size_of(type), space);
  };
  const Buffer a = matrix(size.rows, size.depth), b = matrix(size.depth, size.columns),
               c = matrix(size.rows, size.columns);
  const Stream stream(space);
  const auto multiply = [&] {
    matmul(stream, c.tensor(type, {size.rows, size.columns}),
           a.tensor(type, {size.rows, size.depth}), b.tensor(type, {size.depth, size.columns}));
    stream.synchronize();
  };
  multiply();  // compiles, and touches memory
  int products = 0;
  double spent = 0.0;
  for (const Clock::time_point begin = Clock::now(); spent < seconds; ++products) {
    multiply();
    spent = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  return products * size.flops() / spent;
}

}  // namespace triax
