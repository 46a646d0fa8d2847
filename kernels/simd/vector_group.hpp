// SPDX-License-Identifier: Apache-2.0
#pragma once
// Groups of vectors that go through a computation step by step together: while one vector waits for
// a result, the processor works on the others. One vector after another would fill the processor's
// window with waiting instructions. Arithmetic of groups is written like arithmetic of one vector.
#include <limits>
#include <utility>

#include "kernels/simd/vector_loop.hpp"
#include "kernels/simd/vector_math.hpp"

namespace triax {

/// x clamped to [-limit, limit]. NaN may become a number in that range.
inline FloatVector within(float limit, FloatVector x) {
#if defined(__AVX512DQ__)
  constexpr int smaller_magnitude = 2, sign_of_first = 0 << 2;
  return _mm512_maskz_range_ps(0xffff, x, FloatVector{} + limit, smaller_magnitude | sign_of_first);
#else
  return larger(FloatVector{} - limit, smaller(FloatVector{} + limit, x));
#endif
}

/// min(|x|, limit). NaN stays.
inline FloatVector magnitude_within(float limit, FloatVector x) {
  const WordVector bits = detail::same_bits<WordVector>(x) & 0x7fffffffU;
  return smaller(FloatVector{} + limit, detail::same_bits<FloatVector>(bits));
}

/// Stores two consecutive vectors, each rounded as by store(); past the caches if `past`, to a `p`
/// aligned to the size of both.
template <class T>
void store_two(T* p, FloatVector a, FloatVector b, bool past) {
  if (past) {
    store_past_caches(p, a);
    store_past_caches(p + vector_floats, b);
  } else {
    store(p, a);
    store(p + vector_floats, b);
  }
}
#ifdef __AVX512BF16__
inline void store_two(Bf16* p, FloatVector a, FloatVector b, bool past) {
  const auto both = detail::same_bits<FloatVector>(_mm512_cvtne2ps_pbh(b, a));  // one instruction
  past ? detail::write_past_caches(p, both) : detail::store_bits(p, both);
}
#endif

template <int n>
struct VectorGroup {
  FloatVector part[n];
};

namespace detail {

template <int i, class Op, class... Groups>
[[gnu::always_inline]] inline FloatVector part_of(const Op& op, const Groups&... groups) {
  return op(groups.part[i]...);
}
template <class Op, int... I, class... Groups>
[[gnu::always_inline]] inline auto each_of(const Op& op, std::integer_sequence<int, I...>,
                                           const Groups&... groups) {
  // An expansion instead of a loop: compilers would keep the groups of a loop in memory.
  return VectorGroup<static_cast<int>(sizeof...(I))>{{part_of<I>(op, groups...)...}};
}

/// The group whose vector i is op(vector i of each group).
template <class Op, int n, class... Rest>
[[gnu::always_inline]] inline VectorGroup<n> each(const Op& op, const VectorGroup<n>& first,
                                                  const Rest&... rest) {
  return each_of(op, std::make_integer_sequence<int, n>{}, first, rest...);
}

}  // namespace detail

template <int n>
VectorGroup<n> operator+(const VectorGroup<n>& a, const VectorGroup<n>& b) {
  return detail::each([](FloatVector x, FloatVector y) { return x + y; }, a, b);
}
template <int n>
VectorGroup<n> operator-(const VectorGroup<n>& a, const VectorGroup<n>& b) {
  return detail::each([](FloatVector x, FloatVector y) { return x - y; }, a, b);
}
template <int n>
VectorGroup<n> operator*(const VectorGroup<n>& a, const VectorGroup<n>& b) {
  return detail::each([](FloatVector x, FloatVector y) { return x * y; }, a, b);
}
template <int n>
VectorGroup<n> operator+(const VectorGroup<n>& a, float b) {
  return detail::each([=](FloatVector x) { return x + b; }, a);
}
template <int n>
VectorGroup<n> operator-(const VectorGroup<n>& a, float b) {
  return detail::each([=](FloatVector x) { return x - b; }, a);
}
template <int n>
VectorGroup<n> operator*(const VectorGroup<n>& a, float b) {
  return detail::each([=](FloatVector x) { return x * b; }, a);
}

/// Clamps each lane to [-limit, limit]; NaN may become a number.
template <int n>
VectorGroup<n> within(float limit, const VectorGroup<n>& x) {
  return detail::each([=](FloatVector v) { return within(limit, v); }, x);
}

/// min(|lane|, limit) in each lane; NaN stays.
template <int n>
VectorGroup<n> magnitude_within(float limit, const VectorGroup<n>& x) {
  return detail::each([=](FloatVector v) { return magnitude_within(limit, v); }, x);
}

/// max(lane, least) in each lane; NaN stays.
template <int n>
VectorGroup<n> at_least(float least, const VectorGroup<n>& x) {
  return detail::each([=](FloatVector v) { return larger(FloatVector{} + least, v); }, x);
}

/// a b + c.
template <int n>
VectorGroup<n> multiply_add(const VectorGroup<n>& a, const VectorGroup<n>& b,
                            const VectorGroup<n>& c) {
  return detail::each(
      [](FloatVector x, FloatVector y, FloatVector z) { return multiply_add(x, y, z); }, a, b, c);
}
template <int n>
VectorGroup<n> multiply_add(const VectorGroup<n>& a, const VectorGroup<n>& b, float c) {
  return detail::each(
      [=](FloatVector x, FloatVector y) { return multiply_add(x, y, FloatVector{} + c); }, a, b);
}
template <int n>
VectorGroup<n> multiply_add(const VectorGroup<n>& a, float b, float c) {
  return detail::each(
      [=](FloatVector x) { return multiply_add(x, FloatVector{} + b, FloatVector{} + c); }, a);
}
template <int n>
VectorGroup<n> multiply_add(const VectorGroup<n>& a, float b, const VectorGroup<n>& c) {
  return detail::each(
      [=](FloatVector x, FloatVector z) { return multiply_add(x, FloatVector{} + b, z); }, a, c);
}

/// All lanes of n vectors (the interface of AllLanes, vector_loop.hpp).
template <int n>
struct GroupLanes {
  template <class T>
  [[gnu::always_inline]] VectorGroup<n> stream(const T* p) const {
    return stream_parts(p, std::make_integer_sequence<int, n>{});
  }
  template <class T>
  [[gnu::always_inline]] void write(T* p, const VectorGroup<n>& v, bool past) const {
    write_pairs(p, v, past, std::make_integer_sequence<int, n / 2>{});
    if constexpr (n % 2 == 1) AllLanes{}.write(p + (n - 1) * vector_floats, v.part[n - 1], past);
  }
  /// Maximum per lane of `largest` and those lanes of v that have elements.
  [[gnu::always_inline]] FloatVector larger_of(FloatVector largest, const VectorGroup<n>& v) const {
    for (const FloatVector part : v.part) largest = larger(part, largest);
    return largest;
  }

 private:
  template <class T, int... I>
  [[gnu::always_inline]] VectorGroup<n> stream_parts(const T* p,
                                                     std::integer_sequence<int, I...>) const {
    return {{AllLanes{}.stream(p + I * vector_floats)...}};
  }
  template <class T, int... I>
  [[gnu::always_inline]] void write_pairs(T* p, const VectorGroup<n>& v, bool past,
                                          std::integer_sequence<int, I...>) const {
    (store_two(p + 2 * I * vector_floats, v.part[2 * I], v.part[2 * I + 1], past), ...);
  }
};

/// The lanes of one vector, as a group of one.
template <class Lanes>
struct SingleLanes {
  Lanes lanes;

  template <class T>
  VectorGroup<1> stream(const T* p) const {
    return {{lanes.stream(p)}};
  }
  template <class T>
  void write(T* p, const VectorGroup<1>& v, bool past) const {
    lanes.write(p, v.part[0], past);
  }
  FloatVector larger_of(FloatVector largest, const VectorGroup<1>& v) const {
    return larger(lanes.only(v.part[0], -std::numeric_limits<float>::infinity()), largest);
  }
};

/// Calls last(i, second(first(i, lanes)), lanes) for each group of n vectors in [begin, end), in
/// order. Three groups are in flight at once, each at another of the three steps: for chains of
/// operations too long for a processor's window. A group is written only after the next two were
/// read, so the output must be the same memory as the input or disjoint from it. Returns the end of
/// the last group.
template <int n, class First, class Second, class Last>
[[gnu::always_inline]] inline std::int64_t for_staged_groups(std::int64_t begin, std::int64_t end,
                                                             const First& first,
                                                             const Second& second,
                                                             const Last& last) {
  constexpr std::int64_t step = std::int64_t{n} * vector_floats;
  constexpr GroupLanes<n> lanes;
  std::int64_t i = begin;
  if (i + 2 * step > end) {
    if (i + step > end) return i;
    last(i, second(first(i, lanes)), lanes);
    return i + step;
  }
  auto later = second(first(i, lanes));
  auto sooner = first(i + step, lanes);
  for (; i + 3 * step <= end; i += step) {
    last(i, later, lanes);
    later = second(sooner);
    sooner = first(i + 2 * step, lanes);
  }
  last(i, later, lanes);
  last(i + step, second(sooner), lanes);
  return i + 2 * step;
}

/// for_vectors by staged groups. Elements that fill no group go one vector at a time.
template <int n, class First, class Second, class Last>
[[gnu::always_inline]] inline void for_staged_vectors(std::int64_t begin, std::int64_t end,
                                                      const First& first, const Second& second,
                                                      const Last& last) {
  const std::int64_t rest = for_staged_groups<n>(begin, end, first, second, last);
  for_vectors(rest, end, [&](std::int64_t i, auto lanes) {
    const SingleLanes<decltype(lanes)> single{lanes};
    last(i, second(first(i, single)), single);
  });
}

}  // namespace triax
