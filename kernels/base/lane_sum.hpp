#pragma once
// Vectorised sums with an order that depends on the length alone.
#include <cstdint>

namespace triax {

/// term(0) + ... + term(n - 1) in T. Four runs side by side, each in vector lanes: independent
/// additions keep the core busy, and short runs keep the rounding error small.
template <class T, class Term>
T lane_sum(std::int64_t n, const Term& term) {
  const std::int64_t run = n / 4;
  T a = 0;
  T b = 0;
  T c = 0;
  T d = 0;
#pragma omp simd reduction(+ : a, b, c, d)
  for (std::int64_t i = 0; i < run; ++i) {
    a += term(i);
    b += term(i + run);
    c += term(i + 2 * run);
    d += term(i + 3 * run);
  }
  T rest = 0;
  for (std::int64_t i = 4 * run; i < n; ++i) rest += term(i);
  return (a + b) + (c + d) + rest;
}

}  // namespace triax
