#pragma once
// Vectorised sums with an order that depends on the length alone.
#include <cstdint>

namespace triax {

/// term(0) + ... + term(n - 1) in T, dealt out to 64 partial sums in turn: enough independent
/// additions to fill the vector registers, and short enough chains to keep the rounding error
/// small.
template <class T, class Term>
inline T lane_sum(std::int64_t n, const Term& term) {
  constexpr std::int64_t lanes = 64;
  T lane[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
#pragma omp simd
    for (std::int64_t l = 0; l < lanes; ++l) lane[l] += term(i + l);
  }
#pragma omp simd
  for (std::int64_t l = 0; l < n % lanes; ++l) lane[l] += term(i + l);
#pragma GCC unroll 6
  for (std::int64_t half = lanes / 2; half > 0; half /= 2) {
#pragma omp simd
    for (std::int64_t l = 0; l < half; ++l) lane[l] += lane[l + half];
  }
  return lane[0];
}

}  // namespace triax
