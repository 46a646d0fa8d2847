// SPDX-License-Identifier: Apache-2.0
#include "src/comm/mpi/rank_order_sum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/base/float16.hpp"

namespace triax {
namespace {

// Values of different magnitude and sign, so that the order of a sum shows.
template <class T>
std::vector<T> rough(std::int64_t n, int rank) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = std::sin(static_cast<double>(i * 8 + rank + 1) * 12.9898);
    values[static_cast<std::size_t>(i)] =
        static_cast<float>(x * std::pow(10.0, static_cast<double>((i + rank) % 5)));
  }
  return values;
}

template <class T>
void expect_sums(DType type) {
  for (const int ranks : {2, 3, 4, 8})
    for (const std::int64_t n : {0, 1, 15, 16, 17, 1000}) {
      std::vector<std::vector<T>> terms;
      std::vector<const std::byte*> from;
      for (int r = 0; r < ranks; ++r) terms.push_back(rough<T>(n, r));
      for (const auto& term : terms)
        from.push_back(reinterpret_cast<const std::byte*>(term.data()));
      std::vector<T> expected(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        auto sum = static_cast<float>(terms[0][i]);
        for (std::size_t r = 1; r < terms.size(); ++r) sum += static_cast<float>(terms[r][i]);
        expected[i] = sum;
      }
      const std::int64_t bytes = n * static_cast<std::int64_t>(sizeof(T));
      std::vector<T> copy(expected.size() + 1, T(7.0F)), to = copy;
      const auto at = [](std::vector<T>& values) {
        return reinterpret_cast<std::byte*>(values.data());
      };
      rank_order_sum(type, from, at(to), at(copy), bytes);
      EXPECT_EQ(static_cast<float>(to.back()), 7.0F) << "behind the end";
      EXPECT_EQ(static_cast<float>(copy.back()), 7.0F) << "behind the end";
      EXPECT_EQ(std::memcmp(to.data(), expected.data(), static_cast<std::size_t>(bytes)), 0)
          << ranks << " ranks, " << n << " elements";
      EXPECT_EQ(std::memcmp(copy.data(), expected.data(), static_cast<std::size_t>(bytes)), 0);
      rank_order_sum(type, from, at(terms[1]), nullptr,
                     bytes);  // result stored over one of the terms
      EXPECT_EQ(std::memcmp(terms[1].data(), expected.data(), static_cast<std::size_t>(bytes)), 0);
    }
}

// Sums over a thousand ranks: rounded at each step, each small term would be lost beside the large
// one.
TEST(RankOrderSum, OfManyTermsIsRoundedOnce) {
  constexpr std::size_t ranks = 1250;
  constexpr float small = 0.375F;  // 256 + 1249 * small is exact in float32
  std::vector<Bf16> terms(ranks, Bf16(small));
  terms[3] = Bf16(256.0F);
  std::vector<const std::byte*> from;
  for (const Bf16& term : terms) from.push_back(reinterpret_cast<const std::byte*>(&term));
  Bf16 sum(0.0F);
  rank_order_sum(DType::bf16, from, reinterpret_cast<std::byte*>(&sum), nullptr, sizeof(sum));
  EXPECT_EQ(static_cast<float>(sum), static_cast<float>(Bf16(256.0F + (ranks - 1) * small)));
  Bf16 rounded_each_time = terms[3];
  for (std::size_t r = 0; r < ranks; ++r)
    if (r != 3) rounded_each_time = static_cast<float>(rounded_each_time) + small;
  EXPECT_EQ(static_cast<float>(rounded_each_time), 256.0F);
}

TEST(RankOrderSum, IsTheSumInTheOrderOfTheRanks) {
  expect_sums<float>(DType::f32);
  expect_sums<Bf16>(DType::bf16);
  expect_sums<F16>(DType::f16);
}

// 256 + 1 + 1 in bf16, which has a spacing of 2 there: 258 if rounded once, 256 if rounded at each
// sum.
TEST(RankOrderSum, RoundsOnce) {
  const std::vector<Bf16> large(40, Bf16(256.0F)), one(40, Bf16(1.0F));
  const auto* const ones = reinterpret_cast<const std::byte*>(one.data());
  const std::vector<const std::byte*> from = {reinterpret_cast<const std::byte*>(large.data()),
                                              ones, ones};
  std::vector<Bf16> to(40);
  rank_order_sum(DType::bf16, from, reinterpret_cast<std::byte*>(to.data()), nullptr, 80);
  for (const Bf16 value : to) EXPECT_EQ(static_cast<float>(value), 258.0F);
}

TEST(RankOrderSum, IsOfFloatsThatTrainingHas) {
  EXPECT_TRUE(has_rank_order_sum(DType::f32));
  EXPECT_FALSE(has_rank_order_sum(DType::f64));
  EXPECT_FALSE(has_rank_order_sum(DType::i32));
  const std::vector<const std::byte*> alone = {nullptr};
  EXPECT_THROW(rank_order_sum(DType::f32, alone, nullptr, nullptr, 0), Error);
}

}  // namespace
}  // namespace triax
