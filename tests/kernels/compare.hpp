// SPDX-License-Identifier: Apache-2.0
#pragma once
// Comparison of kernels with their oracles, and of oracles with finite differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "kernels/base/device/arena.hpp"
#include "tests/kernels/run.hpp"

namespace triax::test {

inline std::vector<double> widen(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

inline double root_mean_square(const std::vector<double>& values) {
  double squares = 0.0;
  for (const double value : values) squares += value * value;
  return values.empty() ? 0.0 : std::sqrt(squares / static_cast<double>(values.size()));
}

/// Expects each element within tolerance x max(|expected|, root mean square of all expected):
/// float32 rounding is relative to the element, or to its neighbours where a sum cancelled.
inline void expect_close(const std::vector<double>& actual, const std::vector<double>& expected,
                         double tolerance, std::string_view name) {
  ASSERT_EQ(actual.size(), expected.size()) << name;
  const double floor = root_mean_square(expected);
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * std::max(std::fabs(expected[i]), floor))
        << name << "[" << i << "]";
}

inline void expect_close(const std::vector<float>& actual, const std::vector<double>& expected,
                         double tolerance, std::string_view name) {
  expect_close(widen(actual), expected, tolerance, name);
}

/// Inner product. With dy it turns an operation into a scalar function, whose gradient the backward
/// pass must return.
inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double total = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

/// Expects `gradient` to be that of the scalar function `f` at `x`, by central differences.
template <class Function>
void expect_gradient(const Function& f, std::vector<double> x, const std::vector<double>& gradient,
                     std::string_view name) {
  constexpr double step = 1e-4;  // error about step^2 + 1e-16 / step
  std::vector<double> differences(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + step;
    const double above = f(x);
    x[i] = at - step;
    const double below = f(x);
    x[i] = at;
    differences[i] = (above - below) / (2.0 * step);
  }
  expect_close(gradient, differences, 1e-6, name);
}

/// An arena with `bytes` of memory where the kernels of this process run.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes, MemorySpace where = space())
      : buffer_(bytes, where), arena_(buffer_) {}
  Arena& arena() { return arena_; }

 private:
  Buffer buffer_;
  Arena arena_;
};

/// `rows` rows of `columns` values, spread out to rows of `stride`, with `fill` between them.
inline std::vector<float> spread(const std::vector<float>& values, std::size_t columns,
                                 std::size_t stride, float fill) {
  std::vector<float> out(values.size() / columns * stride, fill);
  for (std::size_t i = 0; i < values.size(); ++i)
    out[i / columns * stride + i % columns] = values[i];
  return out;
}

}  // namespace triax::test
