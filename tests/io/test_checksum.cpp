#include "io/checksum.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "io/boxes.hpp"
#include "kernels/base/splitmix.hpp"

namespace triax {
namespace {

std::vector<std::uint64_t> sums_of(std::vector<float>& values, std::int64_t block) {
  const auto n = static_cast<std::int64_t>(values.size());
  std::vector<std::uint64_t> sums(static_cast<std::size_t>((n + block - 1) / block));
  add_checksums(sums, block, checksum_seed("/model/x"), 0, Tensor(values.data(), {n}));
  return sums;
}

// The test vector of io/README.md: another implementation must come to it.
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
