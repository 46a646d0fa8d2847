#pragma once
// What the backward passes of the norms have in common: one row at a time, with a residual to add.
#include <cstdint>

namespace triax {

/// The pointers of one row of the backward pass; residual may be null.
template <class T>
struct GradientRow {
  T* dx;
  const T* dy;
  const T* residual;
  const T* x;
};

/// dx[c] = residual[c] + gradient(c), gradient being a float; without a residual, gradient(c).
template <class T, class Gradient>
inline void store_gradient(const GradientRow<T>& row, std::int64_t columns,
                           const Gradient& gradient) {
  T* dx = row.dx;
  if (const T* residual = row.residual) {
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) dx[c] = residual[c] + gradient(c);
  } else {
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) dx[c] = gradient(c);
  }
}

}  // namespace triax
