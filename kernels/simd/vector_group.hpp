#pragma once
// Several vectors that go through a computation step by step together: where one of them waits for
// a result the processor has the others to work on. One vector behind another, its window is full
// of instructions that wait. Written as arithmetic of one vector is.
#include <limits>
#include <utility>

#include "kernels/simd/vector_loop.hpp"
#include "kernels/simd/vector_math.hpp"

namespace triax {

/// x where its magnitude is at most `limit`, else `limit` with its sign. NaN may become a number
/// within.
inline FloatVector within(float limit, FloatVector x) {
#if defined(__AVX512DQ__)
  constexpr int smaller_magnitude = 2, sign_of_first = 0 << 2;
  return _mm512_maskz_range_ps(0xffff, x, FloatVector{} + limit, smaller_magnitude | sign_of_first);
#else
  return larger(FloatVector{} - limit, smaller(FloatVector{} + limit, x));
#endif
}

/// The magnitude of x, but `limit` where it is larger. NaN stays.
inline FloatVector magnitude_within(float limit, FloatVector x) {
  const WordVector bits = detail::same_bits<WordVector>(x) & 0x7fffffffU;
  return smaller(FloatVector{} + limit, detail::same_bits<FloatVector>(bits));
}

/// Two vectors one behind the other, as each alone is stored; past the caches to a `p` that is
/// aligned to both.
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
  // Not a loop: compilers would keep the groups in memory.
  return VectorGroup<static_cast<int>(sizeof...(I))>{{part_of<I>(op, groups...)...}};
}

/// The group of op(part i of each of the groups).
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

/// Each lane within +-limit; NaN may become a number.
template <int n>
VectorGroup<n> within(float limit, const VectorGroup<n>& x) {
  return detail::each([=](FloatVector v) { return within(limit, v); }, x);
}

/// Each lane's magnitude, `limit` at most; NaN stays.
template <int n>
VectorGroup<n> magnitude_within(float limit, const VectorGroup<n>& x) {
  return detail::each([=](FloatVector v) { return magnitude_within(limit, v); }, x);
}

/// Each lane not below `least`; NaN stays.
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

/// All lanes of so many vectors (vector_loop.hpp).
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
  /// In each lane the largest of `largest` and the lanes of v that there are elements for.
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

/// The lanes of one vector as a group.
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

/// The groups of n vectors that [begin, end) has, three of them under way at once, each at another
/// stage: for chains of operations that are too long for a processor's window. last(i,
/// second(first(i, lanes)), lanes) for each, in order. No group is written before the next two were
/// read, so what is written must be what the same group was read from, or lie apart. Where they
/// end.
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

/// for_vectors by staged groups: elements that fill no group go one vector at a time.
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
