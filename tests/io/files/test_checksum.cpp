// SPDX-License-Identifier: Apache-2.0
#include "io/files/checksum.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "io/hdf5/boxes.hpp"
#include "kernels/base/splitmix.hpp"

namespace triax {
namespace {

std::vector<std::uint64_t> sums_of(std::vector<float>& values, std::int64_t block) {
  const auto n = static_cast<std::int64_t>(values.size());
  std::vector<std::uint64_t> sums(static_cast<std::size_t>((n + block - 1) / block));
  add_checksums(sums, block, checksum_seed("/model/x"), 0, Tensor(values.data(), {n}));
  return sums;
}

// The test vector of io/checkpoint/README.md, for other implementations of the format.
TEST(Checksum, IsTheOneThatIsDescribed) {
  EXPECT_EQ(checksum_seed("/model/x"), 0x36322a5c25aeb11cU);
  std::vector<float> values = {0.0F, 1.0F, -2.5F};
  EXPECT_EQ(sums_of(values, 2),
            (std::vector<std::uint64_t>{0xc8015e1444b4a0a5U, 0xb2cb572f61b422eaU}));
  EXPECT_EQ(checksum_of("step=50\n"), 0xe057091b9974c0bdU);
}

TEST(Checksum, DoesNotDependOnWhoAddsWhat) {
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.5F);
  const std::vector<std::uint64_t> whole = sums_of(values, 64);
  std::vector<std::uint64_t> parts(whole.size());
  for (const auto& [begin, end] : {std::pair{700, 1000}, {0, 1}, {65, 700}, {1, 65}})
    add_checksums(parts, 64, checksum_seed("/model/x"), begin,
                  Tensor(values.data() + begin, {end - begin}));
  EXPECT_EQ(parts, whole);
}

template <class T>
void expect_each_bit_counts() {
  std::array<T, 37> values{};
  const auto sum = [&] {
    std::uint64_t total = 0;
    add_checksums({&total, 1}, 64, 1, 3, Tensor(values.data(), {37}));
    return total;
  };
  const std::uint64_t before = sum();
  for (std::size_t bit = 0; bit < sizeof(values) * 8; ++bit) {
    std::array<unsigned char, sizeof(values)> bytes;
    std::memcpy(bytes.data(), values.data(), bytes.size());
    bytes[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    EXPECT_NE(sum(), before) << bit;
    bytes[bit / 8] ^= static_cast<unsigned char>(1U << (bit % 8));
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
}

TEST(Checksum, EachBitCounts) {
  expect_each_bit_counts<std::uint8_t>();
  expect_each_bit_counts<std::uint16_t>();
  expect_each_bit_counts<std::int32_t>();
  expect_each_bit_counts<std::int64_t>();
}

// Compares with the definition in io/checkpoint/README.md, element by element, and checks the copy
// at an unaligned address.
template <class T>
void expect_the_definition(std::int64_t count) {
  constexpr std::uint64_t seed = 77, golden = 0x9e3779b97f4a7c15U;
  constexpr std::int64_t first = 1001;
  std::vector<T> values(static_cast<std::size_t>(count) + 1);
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<T>(splitmix64(static_cast<std::uint64_t>(i)));
    values[static_cast<std::size_t>(i)] = bits;
    sum += splitmix64((seed + golden * static_cast<std::uint64_t>(first + i)) ^ bits);
  }
  const Tensor run(static_cast<void*>(values.data()),
                   sizeof(T) == 1   ? DType::u8
                   : sizeof(T) == 2 ? DType::bf16
                   : sizeof(T) == 4 ? DType::f32
                                    : DType::f64,
                   {count});
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
  std::vector<std::byte> copy(bytes + 2, std::byte{0x5a});
  EXPECT_EQ(checksum_of(seed, first, run), sum);
  EXPECT_EQ(checksum_of(seed, first, run, copy.data() + 1), sum);
  EXPECT_EQ(std::memcmp(copy.data() + 1, values.data(), bytes), 0);
  EXPECT_EQ(copy.front(), std::byte{0x5a});
  EXPECT_EQ(copy.back(), std::byte{0x5a}) << "written past the end";
}

TEST(Checksum, IsTheSumOfItsTermsWhateverTheLength) {
  for (const std::int64_t count : {0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 65, 127, 128, 1000, 4099}) {
    SCOPED_TRACE(count);
    expect_the_definition<std::uint8_t>(count);
    expect_the_definition<std::uint16_t>(count);
    expect_the_definition<std::uint32_t>(count);
    expect_the_definition<std::uint64_t>(count);
  }
}

TEST(Checksum, PlacesAndNamesCount) {
  std::vector<float> values = {1, 2};
  std::vector<float> swapped = {2, 1};
  EXPECT_NE(sums_of(values, 2), sums_of(swapped, 2));
  std::vector<float> zeros = {0, 0};
  EXPECT_NE(sums_of(zeros, 2), std::vector<std::uint64_t>{0}) << "what was never written";
  EXPECT_NE(checksum_seed("/model/x"), checksum_seed("/model/y"));
}

}  // namespace
}  // namespace triax
