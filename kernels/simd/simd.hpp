// SPDX-License-Identifier: Apache-2.0
#pragma once
// The host's vector register as a type, by GCC's vector extension: 64 bytes in code for AVX-512, 32
// elsewhere. Only for sources that are compiled once per ISA level (triax_isa_sources). 16-bit
// numbers are widened when loaded and rounded when stored, by the processor's own conversions where
// it has them; GCC does not vectorise those by itself.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/base/float16.hpp"

#ifndef TRIAX_VECTOR_CODE
#error "vector registers are for the sources of triax_isa_sources (kernels/isa/isa.cmake)"
#endif

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace triax {

#ifdef __AVX512F__
constexpr int vector_bytes = 64;
constexpr int vector_registers = 32;
#else
constexpr int vector_bytes = 32;
constexpr int vector_registers = 16;
#endif

/// Floats in one register.
constexpr int vector_floats = vector_bytes / 4;

using FloatVector [[gnu::vector_size(vector_bytes)]] = float;
/// Integers of the same width: the bits of floats, and conditions per lane (all ones where true).
using WordVector [[gnu::vector_size(vector_bytes)]] = std::uint32_t;
using LaneVector [[gnu::vector_size(vector_bytes)]] = std::int32_t;

/// Half as many 64-bit integers.
using LongVector [[gnu::vector_size(vector_bytes)]] = std::uint64_t;
constexpr int vector_longs = vector_bytes / 8;

namespace detail {

// The bits of vector_floats 16-bit numbers.
using HalfWordVector [[gnu::vector_size(vector_bytes / 2)]] = std::uint16_t;

template <class Vector>
Vector load_bits(const void* p) {
  Vector v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class Vector>
void store_bits(void* p, Vector v) {
  std::memcpy(p, &v, sizeof v);
}

template <class To, class From>
To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return load_bits<To>(&from);
}

}  // namespace detail

/// The vector at `p`; no alignment is needed.
inline FloatVector load(const float* p) {
  return detail::load_bits<FloatVector>(p);
}
inline void store(float* p, FloatVector v) {
  detail::store_bits(p, v);
}

inline WordVector load_words(const std::uint32_t* p) {
  return detail::load_bits<WordVector>(p);
}

inline FloatVector load(const Bf16* p) {
#if defined(__AVX512BW__)
  // One instruction moves each number to the upper half of its lane.
  const WordVector places = {0x00000, 0x10000, 0x20000, 0x30000, 0x40000, 0x50000,
                             0x60000, 0x70000, 0x80000, 0x90000, 0xa0000, 0xb0000,
                             0xc0000, 0xd0000, 0xe0000, 0xf0000};
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p));
  return detail::same_bits<FloatVector>(_mm512_maskz_permutexvar_epi16(
      0xaaaaaaaa, detail::same_bits<__m512i>(places), _mm512_castsi256_si512(bits)));
#elif defined(__AVX2__)
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(p));
  return detail::same_bits<FloatVector>(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
#else
  const auto bits = detail::load_bits<detail::HalfWordVector>(p);
  return detail::same_bits<FloatVector>(__builtin_convertvector(bits, WordVector) << 16U);
#endif
}
/// Rounds as Bf16 does, except that subnormal results may become zero and a NaN may keep other
/// bits, as in the processor's own rounding.
inline void store(Bf16* p, FloatVector v) {
#ifdef __AVX512BF16__
  detail::store_bits(p, _mm512_cvtneps_pbh(v));
#else
  const auto word = detail::same_bits<WordVector>(v);
  const WordVector up = word + 0x7fffU + ((word >> 16U) & 1U);
  const WordVector rounded = (v == v ? up : WordVector{} + 0x7fc00000U) >> 16U;
#if defined(__AVX512F__)
  const auto bits = detail::same_bits<__m512i>(rounded);
  detail::store_bits(p, _mm512_maskz_cvtepi32_epi16(0xffff, bits));
#elif defined(__AVX2__)
  const auto bits = detail::same_bits<__m256i>(rounded);  // packed within halves of the register
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(bits, bits), 0x08);
  _mm_storeu_si128(reinterpret_cast<__m128i_u*>(p), _mm256_castsi256_si128(packed));
#else
  detail::store_bits(p, __builtin_convertvector(rounded, detail::HalfWordVector));
#endif
#endif
}

inline FloatVector load(const F16* p) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p)));
#elif defined(__F16C__)
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(p)));
#else
  FloatVector v;
  for (int lane = 0; lane < vector_floats; ++lane) v[lane] = p[lane];
  return v;
#endif
}
/// Rounds as F16 does, except that a NaN may keep other bits.
inline void store(F16* p, FloatVector v) {
#if defined(__AVX512F__)
  _mm256_storeu_si256(
      reinterpret_cast<__m256i_u*>(p),
      _mm512_maskz_cvtps_ph(0xffff, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__F16C__)
  _mm_storeu_si128(reinterpret_cast<__m128i_u*>(p),
                   _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
  for (int lane = 0; lane < vector_floats; ++lane) p[lane] = v[lane];
#endif
}

namespace detail {

#if defined(__AVX512F__)
inline void write_past_caches(void* p, FloatVector v) {
  _mm512_stream_ps(static_cast<float*>(p), v);
}
inline void write_past_caches(void* p, HalfWordVector v) {
  _mm256_stream_si256(static_cast<__m256i*>(p), same_bits<__m256i>(v));
}
#elif defined(__AVX2__)
inline void write_past_caches(void* p, FloatVector v) {
  _mm256_stream_ps(static_cast<float*>(p), v);
}
inline void write_past_caches(void* p, HalfWordVector v) {
  _mm_stream_si128(static_cast<__m128i*>(p), same_bits<__m128i>(v));
}
#else
template <class Vector>
void write_past_caches(void* p, Vector v) {
  store_bits(p, v);
}
#endif

}  // namespace detail

/// Stores past the caches; `p` must be aligned to the size of the stored data. Other cores see the
/// data after the end of the parallel loop (parallel.hpp).
inline void store_past_caches(float* p, FloatVector v) {
  detail::write_past_caches(p, v);
}
template <class T>
void store_past_caches(T* p, FloatVector v) {
  T part[vector_floats];
  store(part, v);
  detail::write_past_caches(p, detail::load_bits<detail::HalfWordVector>(part));
}

/// Prefetches the memory at `p` into the second-level cache. `p` may be any address.
inline void prefetch(const void* p) {
  constexpr int reading = 0, second_level = 2;
  __builtin_prefetch(p, reading, second_level);
}

/// The larger of each lane; the lane of `b` where one is NaN.
inline FloatVector larger(FloatVector a, FloatVector b) {
#if defined(__AVX512F__)
  return _mm512_maskz_max_ps(0xffff, a, b);
#elif defined(__AVX__)
  return _mm256_max_ps(a, b);
#else
  return a > b ? a : b;
#endif
}
/// The smaller of each lane; the lane of `b` where one is NaN.
inline FloatVector smaller(FloatVector a, FloatVector b) {
#if defined(__AVX512F__)
  return _mm512_maskz_min_ps(0xffff, a, b);
#elif defined(__AVX__)
  return _mm256_min_ps(a, b);
#else
  return a < b ? a : b;
#endif
}
inline float larger(float a, float b) {
  return a > b ? a : b;
}
inline float smaller(float a, float b) {
  return a < b ? a : b;
}

/// a b + c, rounded once, by one instruction where the processor has it. Compilers must not fuse a
/// separate product and sum (kernels/isa), so hot loops write this.
inline FloatVector multiply_add(FloatVector a, FloatVector b, FloatVector c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__FP_FAST_FMAF)
  for (int lane = 0; lane < vector_floats; ++lane)  // compilers make one instruction of this loop
    c[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
  return c;
#else
  return a * b + c;
#endif
}
inline float multiply_add(float a, float b, float c) {
  return std::fma(a, b, c);
}
double multiply_add(double a, double b, double c) = delete;  // would silently convert to float

/// Each lane gets the lane of `table` whose index is in the lowest bits of that lane of `at`.
inline FloatVector lookup(FloatVector table, WordVector at) {
#if defined(__AVX512F__)
  return _mm512_maskz_permutexvar_ps(0xffff, detail::same_bits<__m512i>(at), table);
#elif defined(__AVX2__)
  return _mm256_permutevar8x32_ps(table, detail::same_bits<__m256i>(at));
#else
  FloatVector found;
  for (int lane = 0; lane < vector_floats; ++lane)
    found[lane] = table[static_cast<int>(at[lane] % static_cast<unsigned>(vector_floats))];
  return found;
#endif
}

/// Sixteen floats in registers.
struct TableOf16 {
  FloatVector parts[16 / vector_floats];
};
inline TableOf16 table_of_16(const float* p) {
#ifdef __AVX512F__
  return {{load(p)}};
#else
  return {{load(p), load(p + vector_floats)}};
#endif
}
/// Each lane gets the float of `table` whose index is in the lowest four bits of that lane of `at`.
inline FloatVector lookup(const TableOf16& table, WordVector at) {
#if defined(__AVX512F__)
  return lookup(table.parts[0], at);
#elif defined(__AVX2__)
  const auto upper = detail::same_bits<FloatVector>(at << 28U);  // bit 3 of `at` as the sign
  return _mm256_blendv_ps(lookup(table.parts[0], at), lookup(table.parts[1], at), upper);
#else
  const LaneVector upper = (at & 8U) != 0U;
  return upper ? lookup(table.parts[1], at) : lookup(table.parts[0], at);
#endif
}

namespace detail {

template <int Step, int... Lane>
FloatVector rotated(FloatVector v, std::integer_sequence<int, Lane...>) {
  return __builtin_shufflevector(v, v, ((Lane + Step) % vector_floats)...);
}

// Swaps the off-diagonal quarters of each 2 Step x 2 Step square of the rows a (upper) and b
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

/// Transposes a square of vector_floats rows in registers.
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
