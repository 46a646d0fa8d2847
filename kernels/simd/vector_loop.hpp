// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops over elements of any type in vectors of float32, and sums in an order that depends only on
// the length. Every element goes through the same instructions wherever it lies in memory.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/simd/simd.hpp"

namespace triax {

// Bytes that a loop prefetches ahead: far enough to arrive in time, and farther than the
// processor's own prefetching, which stops at the end of a page.
inline constexpr std::int64_t bytes_ahead = 6144;

/// The lanes of a full vector.
struct AllLanes {
  template <class T>
  FloatVector load(const T* p) const {
    return triax::load(p);
  }
  /// load() from memory that a loop reads once and in order, with a prefetch: a loop that computes
  /// much does not reach far enough ahead by itself.
  template <class T>
  FloatVector stream(const T* p) const {
    prefetch(reinterpret_cast<const char*>(p) + bytes_ahead);
    return triax::load(p);
  }
  template <class T>
  void store(T* p, FloatVector v) const {
    triax::store(p, v);
  }
  /// store(), past the caches if `past` (past_caches.hpp).
  template <class T>
  void write(T* p, FloatVector v, bool past) const {
    past ? store_past_caches(p, v) : triax::store(p, v);
  }
  /// v in the lanes that have elements, `elsewhere` in the others.
  FloatVector only(FloatVector v, float /*elsewhere*/) const { return v; }
};

/// The first `count` lanes of a vector; the others are loaded as zeros.
struct FirstLanes {
  std::int64_t count;

  template <class T>
  FloatVector load(const T* p) const {
    T part[vector_floats] = {};
    std::copy_n(p, count, part);
    return triax::load(part);
  }
  template <class T>
  FloatVector stream(const T* p) const {
    return load(p);
  }
  template <class T>
  void store(T* p, FloatVector v) const {
    T part[vector_floats];
    triax::store(part, v);
    std::copy_n(part, count, p);
  }
  template <class T>
  void write(T* p, FloatVector v, bool /*past*/) const {
    store(p, v);
  }
  FloatVector only(FloatVector v, float elsewhere) const {
    for (std::int64_t lane = count; lane < vector_floats; ++lane) v[lane] = elsewhere;
    return v;
  }
};

/// Calls body(i, lanes) for i = begin, begin + vector_floats, ... below end. lanes.load(p + i) and
/// lanes.store(p + i, v) access only elements before `end`.
template <class Body>
[[gnu::always_inline]] inline void for_vectors(std::int64_t begin, std::int64_t end,
                                               const Body& body) {
  std::int64_t i = begin;
  for (; i + vector_floats <= end; i += vector_floats) body(i, AllLanes{});
  if (i < end) body(i, FirstLanes{end - i});
}

namespace detail {

constexpr int most_partial_sums = 64;  // elements go to them in turn
constexpr int sum_vectors = most_partial_sums / vector_floats;

template <int Lanes>
float sum_of_lanes(FloatVector v) {
  if constexpr (Lanes == 1)
    return v[0];
  else
    return sum_of_lanes<Lanes / 2>(
        v + rotated<Lanes / 2>(v, std::make_integer_sequence<int, vector_floats>{}));
}

// Partial sums of one sum, in vectors.
template <int partial_sums = most_partial_sums>
struct LaneSums {
  static constexpr int count = partial_sums / vector_floats;  // number of vectors
  static_assert(partial_sums >= 16 && std::has_single_bit(static_cast<unsigned>(partial_sums)),
                "as many on every kind of processor, added in halves");
  FloatVector vectors[count] = {};

  float total() {
#pragma GCC unroll 4
    for (int half = count / 2; half > 0; half /= 2)
#pragma GCC unroll 4
      for (int v = 0; v < half; ++v) vectors[v] += vectors[v + half];
    return sum_of_lanes<vector_floats>(vectors[0]);
  }
};

}  // namespace detail

/// A term of a sum that is a product; multiply_add adds it with one rounding.
struct Product {
  FloatVector a, b;
};

namespace detail {

// Adds terms for `lanes` to vector v of each sum.
template <class Sums, class Lanes>
struct LaneTerms {
  Sums* sums;
  int v;
  Lanes lanes;

  void operator()(std::size_t which, FloatVector x) const {
    sums[which].vectors[v] += lanes.only(x, 0.0F);
  }
  void operator()(std::size_t which, Product x) const {
    FloatVector& sum = sums[which].vectors[v];
    sum = multiply_add(lanes.only(x.a, 0.0F), lanes.only(x.b, 0.0F), sum);
  }
};

}  // namespace detail

/// Sums over n elements: to[which] = sum of x. term(i, lanes, add) calls add(which, x) once per
/// sum, with the terms of the elements from i on; x is a vector or a Product. Elements go to 64
/// partial sums in turn, which are added in halves: the order depends on n alone, and short chains
/// keep the rounding error small. Use 32 partial sums per sum if many sums would not fit the
/// registers.
template <int partial_sums = detail::most_partial_sums, std::size_t count, class Term>
[[gnu::always_inline]] inline void vector_sums(float (&to)[count], std::int64_t n,
                                               const Term& term) {
  using Sums = detail::LaneSums<partial_sums>;
  Sums sums[count];
  std::int64_t i = 0;
  for (; i + partial_sums <= n; i += partial_sums) {
#pragma GCC unroll 8
    for (int v = 0; v < Sums::count; ++v)
      term(i + std::int64_t{v} * vector_floats, AllLanes{},
           detail::LaneTerms<Sums, AllLanes>{sums, v, {}});
  }
#pragma GCC unroll 8
  for (int v = 0; v < Sums::count; ++v, i += vector_floats) {
    if (i + vector_floats <= n)
      term(i, AllLanes{}, detail::LaneTerms<Sums, AllLanes>{sums, v, {}});
    else if (i < n)
      term(i, FirstLanes{n - i}, detail::LaneTerms<Sums, FirstLanes>{sums, v, {n - i}});
  }
#pragma GCC unroll 4
  for (std::size_t which = 0; which < count; ++which) to[which] = sums[which].total();
}

/// Sum of term(i, lanes), which returns a vector or a Product.
template <class Term>
[[gnu::always_inline]] inline float vector_sum(std::int64_t n, const Term& term) {
  float to[1];
  vector_sums(to, n, [&](std::int64_t i, auto lanes, const auto& add) { add(0, term(i, lanes)); });
  return to[0];
}

}  // namespace triax
