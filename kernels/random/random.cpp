// SPDX-License-Identifier: Apache-2.0
#include "kernels/random/random.hpp"

#include <algorithm>

#include "kernels/base/rows.hpp"
#include "kernels/base/splitmix.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/random/normal_vectors.hpp"
#include "kernels/random/philox.hpp"
#include "kernels/random/philox_vectors.hpp"
#include "kernels/simd/vector_loop.hpp"

namespace triax {
namespace {

using Word = std::uint32_t;

constexpr std::int64_t parallel_block = 4096;  // elements per parallel task; whole vectors

}  // namespace

std::array<Word, 4> philox4x32(std::array<Word, 4> counter, std::array<Word, 2> key) {
  const PhiloxBlock block =
      philox_encrypt({counter[0], counter[1], counter[2], counter[3]}, key[0], key[1]);
  return {block.w0, block.w1, block.w2, block.w3};
}

std::array<Word, 4> philox(std::uint64_t key, std::uint64_t counter) {
  const PhiloxBlock block = philox_block(key, counter);
  return {block.w0, block.w1, block.w2, block.w3};
}

void random_words(Word* words, std::int64_t count, std::uint64_t key, std::int64_t first_index) {
  for_random_words(count, key, first_index,
                   [=](std::int64_t done, const Word* made, std::int64_t n) {
                     std::copy_n(made, n, words + done);
                   });
}

std::uint64_t mix_key(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return mix_key(seed, hash);
}

std::uint64_t mix_key(std::uint64_t key, std::uint64_t number) {
  return splitmix64(splitmix64(key) ^ number);
}

void fill_normal(const Stream& stream, const Tensor& out, std::uint64_t key,
                 std::int64_t first_index, float mean, float deviation) {
  if (on_device(stream)) return cuda::fill_normal(stream, out, key, first_index, mean, deviation);
  const std::int64_t lead = first_index % 2;  // an odd start also needs the first word of its pair
  with_type(out.dtype(), [&]<class T>(Type<T>) {
    T* values = elements_of<T>(out, out.elements(), "out");
    parallel_for_blocks(
        out.elements() + lead, parallel_block, [=](std::int64_t begin, std::int64_t end) {
          Word words[parallel_block];
          float normal[parallel_block];
          const std::int64_t count =
              (end - begin + vector_floats - 1) / vector_floats * vector_floats;
          random_words(words, count, key, first_index - lead + begin);
          for (std::int64_t i = 0; i < count; i += vector_floats)
            store(normal + i, normal_numbers(load_words(words + i)));
          const std::int64_t skip = begin == 0 ? lead : 0;
          T* const to = values + begin + skip - lead;
          for_vectors(0, end - begin - skip, [=, from = normal + skip](std::int64_t i, auto lanes) {
            lanes.store(to + i, mean + deviation * lanes.load(from + i));
          });
        });
  });
}

void fill_constant(const Stream& stream, const Tensor& out, float value) {
  if (on_device(stream)) return cuda::fill_constant(stream, out, value);
  with_type(out.dtype(), [&]<class T>(Type<T>) {
    T* values = elements_of<T>(out, out.elements(), "out");
    parallel_for_blocks(out.elements(), parallel_block, [=](std::int64_t begin, std::int64_t end) {
      std::fill(values + begin, values + end, T(value));
    });
  });
}

}  // namespace triax
