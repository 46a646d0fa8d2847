// SPDX-License-Identifier: Apache-2.0
#include "src/machine/here/product_rate.hpp"

#include <chrono>

#include "kernels/matmul/matmul.hpp"

namespace triax {

double product_rate(const ProductSize& size, DType type, MemorySpace space, double seconds) {
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return Buffer(static_cast<std::size_t>(rows * columns) * size_of(type), space);
  };
  const Buffer a = matrix(size.rows, size.depth), b = matrix(size.depth, size.columns),
               c = matrix(size.rows, size.columns);
  const Stream stream(space);
  return size.flops() / least_seconds(seconds, [&] {
           matmul(stream, c.tensor(type, {size.rows, size.columns}),
                  a.tensor(type, {size.rows, size.depth}),
                  b.tensor(type, {size.depth, size.columns}));
           stream.synchronize();
         });
}

double least_seconds(double seconds, const std::function<void()>& body) {
  using Clock = std::chrono::steady_clock;
  body();  // compiles, and touches memory
  double least = 0.0, spent = 0.0;
  for (const Clock::time_point start = Clock::now(); spent < seconds;) {
    const Clock::time_point begin = Clock::now();
    body();
    const Clock::time_point end = Clock::now();
    const double own = std::chrono::duration<double>(end - begin).count();
    if (least == 0.0 || own < least) least = own;
    spent = std::chrono::duration<double>(end - start).count();
  }
  return least;
}

}  // namespace triax
