// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words of a random stream (kernels/random/random.hpp) in the host's vector registers: many counter
// blocks at once, for loops that consume the words as they are made.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "kernels/random/philox.hpp"
#include "kernels/simd/simd.hpp"

namespace triax {
namespace detail {

// One word of each of several counter blocks, in the lower halves of the lanes. The upper halves
// are ignored: multiplication reads only the lower ones.
using WordOfBlocks = LongVector;
inline constexpr int block_lanes = vector_longs;
using BlockLanes = std::make_integer_sequence<int, block_lanes>;

// Words made together by `chains` vectors in turn; a single chain would wait for its own results.
template <int chains>
inline constexpr std::int64_t words_together = chains * 4 * block_lanes;

inline WordOfBlocks multiply(WordOfBlocks a, std::uint64_t factor) {
  const WordOfBlocks b = WordOfBlocks{} + factor;
#if defined(__AVX512F__)
  return same_bits<WordOfBlocks>(
      _mm512_maskz_mul_epu32(0xff, same_bits<__m512i>(a), same_bits<__m512i>(b)));
#elif defined(__AVX2__)
  return same_bits<WordOfBlocks>(_mm256_mul_epu32(same_bits<__m256i>(a), same_bits<__m256i>(b)));
#else
  return (a & 0xffffffffU) * b;
#endif
}

// Counters of the lanes, interleaved: a block of the lower half next to one of the upper half.
// store_blocks restores the order.
template <int... Lane>
WordOfBlocks counters_from(std::uint64_t first, std::integer_sequence<int, Lane...>) {
  return WordOfBlocks{(Lane / 2 + Lane % 2 * (block_lanes / 2))...} + first;
}

// Two words of each block side by side; `second` goes to the upper halves of the lanes.
inline WordOfBlocks lower_halves(WordOfBlocks first, WordOfBlocks second) {
#if defined(__AVX512F__)
  constexpr __mmask16 upper = 0xaaaa;
  return same_bits<WordOfBlocks>(
      _mm512_mask_moveldup_ps(same_bits<__m512>(first), upper, same_bits<__m512>(second)));
#elif defined(__AVX2__)
  return same_bits<WordOfBlocks>(_mm256_blend_ps(
      same_bits<__m256>(first), _mm256_moveldup_ps(same_bits<__m256>(second)), 0xaa));
#else
  return (first & 0xffffffffU) | second << 32U;
#endif
}

// Stores whole blocks. `first` has words 0 and 1 of each block, `second` words 2 and 3: the blocks
// of even lanes are stored first, then those of odd lanes.
template <int... Lane>
void store_blocks(std::uint32_t* words, WordOfBlocks first, WordOfBlocks second,
                  std::integer_sequence<int, Lane...>) {
  store_bits(words, __builtin_shufflevector(first, second,
                                            (Lane % 2 == 0 ? Lane : block_lanes + Lane - 1)...));
  store_bits(
      words + 2 * block_lanes,
      __builtin_shufflevector(first, second, (Lane % 2 == 0 ? Lane + 1 : block_lanes + Lane)...));
}

// The words of the counter blocks from `first` on, as philox_encrypt (philox.hpp) makes them.
template <int chains>
inline void generate_words(std::uint32_t* words, std::uint64_t key, std::uint64_t first) {
  WordOfBlocks w0[chains], w1[chains], w2[chains], w3[chains];
#pragma GCC unroll 4
  for (int c = 0; c < chains; ++c) {
    w0[c] = counters_from(first + static_cast<std::uint64_t>(c * block_lanes), BlockLanes{});
    w1[c] = w0[c] >> 32U;
    w2[c] = w3[c] = WordOfBlocks{};
  }
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32U);
#pragma GCC unroll 16
  for (int round = 0; round < philox_rounds; ++round) {
#pragma GCC unroll 4
    for (int c = 0; c < chains; ++c) {
      const WordOfBlocks p0 = multiply(w0[c], philox_multiplier0);
      const WordOfBlocks p1 = multiply(w2[c], philox_multiplier1);
      w0[c] = (p1 >> 32U) ^ w1[c] ^ key0;
      w1[c] = p1;
      w2[c] = (p0 >> 32U) ^ w3[c] ^ key1;
      w3[c] = p0;
    }
    key0 += philox_weyl0;
    key1 += philox_weyl1;
  }
#pragma GCC unroll 4
  for (int c = 0; c < chains; ++c)
    store_blocks(words + c * 4 * block_lanes, lower_halves(w0[c], w1[c]),
                 lower_halves(w2[c], w3[c]), BlockLanes{});
}

}  // namespace detail

/// Calls body(done, parts, n) for consecutive ranges of a stream: n elements (words, or the 16-bit
/// halves of words as they lie in memory), starting `done` elements after `first_index` (>= 0);
/// together they cover `count` elements of the stream of `key`. body may read one vector beyond the
/// range's end. Four chains are faster than two for long ranges.
template <class Part, int chains, class Body>
[[gnu::always_inline]] inline void for_random(std::int64_t count, std::uint64_t key,
                                              std::int64_t first_index, const Body& body) {
  constexpr std::int64_t of_block = 16 / sizeof(Part);
  constexpr std::int64_t together = detail::words_together<chains> / 4 * of_block;
  std::uint32_t words[detail::words_together<chains> + vector_floats];
  for (std::int64_t done = 0; done < count;) {
    // Groups begin at any counter block, so only the first can start inside one.
    const std::int64_t index = first_index + done;
    const std::int64_t skip = index % of_block;
    const std::int64_t take = std::min(count - done, together - skip);
    detail::generate_words<chains>(words, key, static_cast<std::uint64_t>(index / of_block));
    body(done, reinterpret_cast<const Part*>(words) + skip, take);
    done += take;
  }
}

/// for_random for words.
template <int chains = 2, class Body>
[[gnu::always_inline]] inline void for_random_words(std::int64_t count, std::uint64_t key,
                                                    std::int64_t first_index, const Body& body) {
  for_random<std::uint32_t, chains>(count, key, first_index, body);
}
/// for_random for 16-bit halves (dropout_mask.hpp), which are passed as they lie in memory, for
/// where_at_least.
template <int chains, class Body>
[[gnu::always_inline]] inline void for_random_halves(std::int64_t count, std::uint64_t key,
                                                     std::int64_t first_index, const Body& body) {
  static_assert(std::endian::native == std::endian::little, "lower halves come first in memory");
  for_random<std::uint16_t, chains>(count, key, first_index, body);
}

/// v in the lanes whose half is at least `least`, zero in the others.
inline FloatVector where_at_least(const std::uint16_t* halves, std::uint16_t least, FloatVector v) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(halves));
  const __m256i bound = _mm256_set1_epi16(static_cast<std::int16_t>(least));
  return _mm512_maskz_mov_ps(_mm256_cmpge_epu16_mask(bits, bound), v);
#else
#if defined(__AVX2__) && !defined(__AVX512F__)
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(halves));
  const auto lanes = detail::same_bits<LaneVector>(_mm256_cvtepu16_epi32(bits));
#else
  const auto bits = detail::load_bits<detail::HalfWordVector>(halves);
  const auto lanes = __builtin_convertvector(bits, LaneVector);
#endif
  return lanes >= LaneVector{} + least ? v : FloatVector{};
#endif
}

}  // namespace triax
