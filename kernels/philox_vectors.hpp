#pragma once
// The words of a stream of random numbers (kernels/random.hpp) by the host's vector registers: many
// counter blocks at once, for loops that use the words as they are made.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/base/simd.hpp"
#include "kernels/philox.hpp"

namespace triax {
namespace detail {

// A word of each of several counter blocks, in the lower halves of the lanes. What the upper halves
// have does not matter: multiplication reads the lower ones alone.
using WordOfBlocks [[gnu::vector_size(vector_bytes)]] = std::uint64_t;
inline constexpr int block_lanes = vector_bytes / 8;
using BlockLanes = std::make_integer_sequence<int, block_lanes>;

// Words that are made together by `chains` vectors worked on in turn: one would wait for its own
// results.
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

template <int... Lane>
WordOfBlocks counters_from(std::uint64_t first, std::integer_sequence<int, Lane...>) {
  return WordOfBlocks{Lane...} + first;
}

// Words 0 and 1 of each block, then words 2 and 3, lane by lane.
template <int... Lane>
void store_blocks(std::uint32_t* words, WordOfBlocks first, WordOfBlocks second,
                  std::integer_sequence<int, Lane...>) {
  constexpr int half = block_lanes / 2;
  store_bits(words, __builtin_shufflevector(first, second,
                                            (Lane / 2 + (Lane % 2 == 0 ? 0 : block_lanes))...));
  store_bits(words + 2 * block_lanes,
             __builtin_shufflevector(first, second,
                                     (half + Lane / 2 + (Lane % 2 == 0 ? 0 : block_lanes))...));
}

// The words of the counter blocks from `first` on: philox_encrypt of philox.hpp.
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
  constexpr std::uint64_t lower_half = 0xffffffff;
#pragma GCC unroll 4
  for (int c = 0; c < chains; ++c)
    store_blocks(words + c * 4 * block_lanes, (w0[c] & lower_half) | (w1[c] << 32U),
                 (w2[c] & lower_half) | (w3[c] << 32U), BlockLanes{});
}

}  // namespace detail

/// body(done, words, n) for runs of n words, `done` words into the part of the stream of `key` that
/// begins at `first_index` (not negative) and has `count` words, in order. A whole vector of words
/// may be read behind the last of a run. Four chains are faster than two, for long runs.
template <int chains = 2, class Body>
[[gnu::always_inline]] inline void for_random_words(std::int64_t count, std::uint64_t key,
                                                    std::int64_t first_index, const Body& body) {
  std::uint32_t words[detail::words_together<chains> + vector_floats];
  for (std::int64_t done = 0; done < count;) {
    // Groups may start at any counter block, so only the first can begin within one.
    const std::int64_t index = first_index + done;
    const std::int64_t skip = index % 4;
    const std::int64_t take = std::min(count - done, detail::words_together<chains> - skip);
    detail::generate_words<chains>(words, key, static_cast<std::uint64_t>(index / 4));
    body(done, words + skip, take);
    done += take;
  }
}

}  // namespace triax
