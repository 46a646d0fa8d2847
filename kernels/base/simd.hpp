#pragma once
// The host's vector registers as a type: GCC's vector extension, 64 bytes where the build has
// AVX-512, 32 elsewhere.
#include <cstdint>
#include <cstring>
#include <utility>

namespace triax {

#ifdef __AVX512F__
constexpr int vector_bytes = 64;
constexpr int vector_registers = 32;
#else
constexpr int vector_bytes = 32;
constexpr int vector_registers = 16;
#endif

/// Floats that one register holds.
constexpr int vector_floats = vector_bytes / 4;

using FloatVector [[gnu::vector_size(vector_bytes)]] = float;

/// The vector at `p`, which needs no alignment.
inline FloatVector load(const float* p) {
  FloatVector v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, FloatVector v) {
  std::memcpy(p, &v, sizeof v);
}

/// The larger of each lane; the lane of `b` where one is NaN.
inline FloatVector larger(FloatVector a, FloatVector b) {
  return a > b ? a : b;
}

namespace detail {

template <int Step, int... Lane>
FloatVector rotated(FloatVector v, std::integer_sequence<int, Lane...>) {
  return __builtin_shufflevector(v, v, ((Lane + Step) % vector_floats)...);
}

// Swaps the off-diagonal quarters of each 2 Step x 2 Step block of the rows a (upper) and b
// (lower).
template <int Step, int... Lane>
void swap_quarters(FloatVector& a, FloatVector& b, std::integer_sequence<int, Lane...>) {
  const FloatVector upper =
      __builtin_shufflevector(a, b, ((Lane & Step) != 0 ? vector_floats + Lane - Step : Lane)...);
  b = __builtin_shufflevector(a, b, ((Lane & Step) != 0 ? vector_floats + Lane : Lane + Step)...);
  a = upper;
}

}  // namespace detail

/// The largest lane.
template <int Step = vector_floats / 2>
float largest_lane(FloatVector v) {
  if constexpr (Step == 0)
    return v[0];
  else
    return largest_lane<Step / 2>(
        larger(v, detail::rotated<Step>(v, std::make_integer_sequence<int, vector_floats>{})));
}

/// A square block of vector_floats rows transposed, in registers.
template <int Step = vector_floats / 2>
[[gnu::always_inline]] inline void transpose(FloatVector (&rows)[vector_floats]) {
  if constexpr (Step > 0) {
#pragma GCC unroll 16
    for (int i = 0; i < vector_floats; ++i)
      if ((i & Step) == 0)
        detail::swap_quarters<Step>(rows[i], rows[i | Step],
                                    std::make_integer_sequence<int, vector_floats>{});
    transpose<Step / 2>(rows);
  }
}

}  // namespace triax
