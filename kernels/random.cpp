#include "kernels/random.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/splitmix.hpp"
#include "kernels/base/with_type.hpp"

namespace triax {
namespace {

using Word = std::uint32_t;

// Constants of Random123: multipliers of the two halves, and what the key grows by each round (Weyl
// sequence).
constexpr std::uint64_t multiplier0 = 0xD2511F53;
constexpr std::uint64_t multiplier1 = 0xCD9E8D57;
constexpr Word weyl0 = 0x9E3779B9;
constexpr Word weyl1 = 0xBB67AE85;
constexpr int rounds = 10;

constexpr Word low(std::uint64_t x) {
  return static_cast<Word>(x);
}
constexpr Word high(std::uint64_t x) {
  return static_cast<Word>(x >> 32);
}

constexpr std::int64_t lanes = 16;             // counter blocks generated together
constexpr std::int64_t group = 4 * lanes;      // words of them
constexpr std::int64_t parallel_block = 4096;  // elements of a parallel task; a multiple of `group`

struct Block {
  Word w0, w1, w2, w3;
};

// The rounds unrolled, so that a loop over counters becomes vector code.
[[gnu::always_inline]] inline Block encrypt(Block c, Word k0, Word k1) {
#pragma GCC unroll 10
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t p0 = multiplier0 * c.w0;
    const std::uint64_t p1 = multiplier1 * c.w2;
    c = {high(p1) ^ c.w1 ^ k0, low(p1), high(p0) ^ c.w3 ^ k1, low(p0)};
    k0 += weyl0;
    k1 += weyl1;
  }
  return c;
}

// The words of counter blocks first .. first + lanes.
void generate_group(Word* words, std::uint64_t key, std::uint64_t first) {
#pragma omp simd
  for (std::int64_t l = 0; l < lanes; ++l) {
    const std::uint64_t counter = first + static_cast<std::uint64_t>(l);
    const Block block = encrypt({low(counter), high(counter), 0, 0}, low(key), high(key));
    words[4 * l] = block.w0;
    words[4 * l + 1] = block.w1;
    words[4 * l + 2] = block.w2;
    words[4 * l + 3] = block.w3;
  }
}

struct NormalPair {
  double cosine;
  double sine;
};

NormalPair box_muller(Word a, Word b) {
  const double u = (static_cast<double>(a) + 0.5) * 0x1p-32;  // in (0, 1): the logarithm is finite
  const double angle = static_cast<double>(b) * (0x1p-32 * 2.0 * std::numbers::pi);
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace

std::array<Word, 4> philox4x32(std::array<Word, 4> counter, std::array<Word, 2> key) {
  const Block block = encrypt({counter[0], counter[1], counter[2], counter[3]}, key[0], key[1]);
  return {block.w0, block.w1, block.w2, block.w3};
}

std::array<Word, 4> philox(std::uint64_t key, std::uint64_t counter) {
  return philox4x32({low(counter), high(counter), 0, 0}, {low(key), high(key)});
}

void random_words(Word* words, std::int64_t count, std::uint64_t key, std::int64_t first_index) {
  Word buffer[group];
  for (std::int64_t done = 0; done < count;) {
    // Groups may start at any counter block, so only the first can begin within one.
    const std::int64_t index = first_index + done;
    const std::int64_t skip = index % 4;
    const std::int64_t take = std::min(count - done, group - skip);
    generate_group(buffer, key, static_cast<std::uint64_t>(index / 4));
    std::copy_n(buffer + skip, take, words + done);
    done += take;
  }
}

std::uint64_t mix_key(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return mix_key(seed, hash);
}

std::uint64_t mix_key(std::uint64_t key, std::uint64_t number) {
  return splitmix64(splitmix64(key) ^ number);
}

void fill_normal(const Stream&, const Tensor& out, std::uint64_t key, std::int64_t first_index,
                 float mean, float deviation) {
  const std::int64_t lead = first_index % 2;  // an odd start needs the pair's first word too
  with_type(out.dtype(), [&]<class T>(Type<T>) {
    T* values = elements_of<T>(out, out.elements(), "out");
    parallel_for_blocks(
        out.elements() + lead, parallel_block, [=](std::int64_t begin, std::int64_t end) {
          Word words[parallel_block + 1];
          random_words(words, end - begin + 1, key, first_index - lead + begin);
          for (std::int64_t i = begin; i < end; i += 2) {
            const auto [even, odd] = box_muller(words[i - begin], words[i - begin + 1]);
            if (i >= lead) values[i - lead] = mean + deviation * static_cast<float>(even);
            if (i + 1 < end) values[i + 1 - lead] = mean + deviation * static_cast<float>(odd);
          }
        });
  });
}

void fill_constant(const Stream&, const Tensor& out, float value) {
  with_type(out.dtype(), [&]<class T>(Type<T>) {
    T* values = elements_of<T>(out, out.elements(), "out");
    parallel_for_blocks(out.elements(), parallel_block, [=](std::int64_t begin, std::int64_t end) {
      std::fill(values + begin, values + end, T(value));
    });
  });
}

}  // namespace triax
