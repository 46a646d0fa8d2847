// SPDX-License-Identifier: Apache-2.0
#include "io/files/checksum.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/base/check.hpp"
#include "kernels/base/splitmix.hpp"
#include "kernels/simd/vector_loop.hpp"

namespace triax {
namespace {

// Number of 64-bit words in a vector register.
constexpr int lanes = vector_bytes / 8;
using Words [[gnu::vector_size(vector_bytes)]] = std::uint64_t;
template <class Bits>
using Elements [[gnu::vector_size(lanes * sizeof(Bits))]] = Bits;

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;

// Widens elements to 64-bit words by one instruction; the compiler's conversion takes many.
template <class Bits>
Words widened(Elements<Bits> from) {
  if constexpr (sizeof(Bits) == sizeof(std::uint64_t)) {
    return from;
  } else {
#if defined(__AVX2__)
    __m256i bits = {};
    std::memcpy(&bits, &from, sizeof from);
    Words words;
    const auto keep = [&words](auto wide) { std::memcpy(&words, &wide, sizeof words); };
    [[maybe_unused]] const __m128i low = _mm256_castsi256_si128(bits);
#if defined(__AVX512F__)
    if constexpr (sizeof(Bits) == 1) keep(_mm512_maskz_cvtepu8_epi64(0xff, low));
    if constexpr (sizeof(Bits) == 2) keep(_mm512_maskz_cvtepu16_epi64(0xff, low));
    if constexpr (sizeof(Bits) == 4) keep(_mm512_maskz_cvtepu32_epi64(0xff, bits));
#else
    if constexpr (sizeof(Bits) == 1) keep(_mm256_cvtepu8_epi64(low));
    if constexpr (sizeof(Bits) == 2) keep(_mm256_cvtepu16_epi64(low));
    if constexpr (sizeof(Bits) == 4) keep(_mm256_cvtepu32_epi64(low));
#endif
    return words;
#else
    return __builtin_convertvector(from, Words);
#endif
  }
}

// Sums consecutive elements vector by vector, and copies them to `to` where `copies` is set.
template <class Bits>
class Summation {
 public:
  // `key`: seed + golden * index of the first element.
  explicit Summation(std::uint64_t key) {
    for (int lane = 0; lane < lanes; ++lane)
      key_[lane] = key + golden * static_cast<std::uint64_t>(lane);
  }
  template <bool copies>
  [[gnu::always_inline]] void add(const Bits* from, std::byte* to) {
    Elements<Bits> elements;
    std::memcpy(&elements, from, sizeof elements);
    if constexpr (copies) std::memcpy(to, &elements, sizeof elements);
    sum_ += splitmix64_words(key_ ^ widened<Bits>(elements));
    key_ += golden * lanes;
  }
  std::uint64_t sum() const {
    std::uint64_t all = 0;
    for (int lane = 0; lane < lanes; ++lane) all += sum_[lane];
    return all;
  }

 private:
  Words key_ = {};
  Words sum_ = {};
};

// The sum over elements [first, first + count) of splitmix64((seed + golden * index) ^ bits).
// Prefetches by hand: some processors, and many virtual ones, do not prefetch through a long
// computation and then wait for each cache line.
template <bool copies, class Bits>
std::uint64_t sum_of(const Bits* elements, std::int64_t count, std::uint64_t seed,
                     std::int64_t first, std::byte* copy) {
  const std::uint64_t begin = seed + golden * static_cast<std::uint64_t>(first);
  constexpr std::int64_t width = sizeof(Bits), line = 64 / width;
  Summation<Bits> summation(begin);
  std::int64_t i = 0;
  for (; i + line <= count; i += line) {
    prefetch(reinterpret_cast<const char*>(elements + i) + bytes_ahead);
#pragma GCC unroll 16
    for (std::int64_t j = i; j < i + line; j += lanes)
      summation.template add<copies>(elements + j, copy + (copies ? j * width : 0));
  }
  std::uint64_t sum = summation.sum();
  for (; i < count; ++i) {
    sum += splitmix64((begin + golden * static_cast<std::uint64_t>(i)) ^
                      static_cast<std::uint64_t>(elements[i]));
    if constexpr (copies) std::memcpy(copy + i * width, elements + i, sizeof(Bits));
  }
  return sum;
}

template <class Bits>
std::uint64_t sum_of(const Tensor& run, std::uint64_t seed, std::int64_t first, void* copy) {
  const auto* const elements = static_cast<const Bits*>(run.data());
  auto* const to = static_cast<std::byte*>(copy);
  return copy == nullptr ? sum_of<false>(elements, run.elements(), seed, first, to)
                         : sum_of<true>(elements, run.elements(), seed, first, to);
}

}  // namespace

std::uint64_t checksum_of(std::uint64_t seed, std::int64_t first, const Tensor& run, void* copy) {
  check(run.contiguous() && run.space() == MemorySpace::host,
        "the checksum of a strided or device tensor");
  switch (size_of(run.dtype())) {
    case 1:
      return sum_of<std::uint8_t>(run, seed, first, copy);
    case 2:
      return sum_of<std::uint16_t>(run, seed, first, copy);
    case 4:
      return sum_of<std::uint32_t>(run, seed, first, copy);
    default:
      return sum_of<std::uint64_t>(run, seed, first, copy);
  }
}

std::uint64_t checksum_seed(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

void add_checksums(std::span<std::uint64_t> sums, std::int64_t block, std::uint64_t seed,
                   std::int64_t first, const Tensor& run) {
  const std::int64_t end = first + run.elements();
  check(first >= 0 && end <= static_cast<std::int64_t>(sums.size()) * block,
        "checksums of elements [{}, {}) in {} blocks of {}", first, end, sums.size(), block);
  auto* data = static_cast<char*>(run.data());
  for (std::int64_t at = first; at < end;) {
    const std::int64_t stop = std::min(end, (at / block + 1) * block);
    const Tensor part(data, run.dtype(), {stop - at});
    sums[static_cast<std::size_t>(at / block)] += checksum_of(seed, at, part);
    data += part.bytes();
    at = stop;
  }
}

std::uint64_t checksum_of(std::string_view text) {
  return sum_of<false>(reinterpret_cast<const std::uint8_t*>(text.data()),
                       static_cast<std::int64_t>(text.size()), checksum_seed({}), 0, nullptr);
}

}  // namespace triax
