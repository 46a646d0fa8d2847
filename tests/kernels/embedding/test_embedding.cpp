// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding/embedding.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <functional>

#include "kernels/reference/embedding.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

constexpr double tolerance = 1e-6;
constexpr double of_sums = 2e-6;  // many terms in float32

struct Size {
  std::int64_t rows, vocabulary, columns, shards;
};

class Embedding : public testing::TestWithParam<std::tuple<test::TypePair, Size, float>> {
 protected:
  void SetUp() override {
    for (std::size_t r = 0; r < tokens.size(); ++r)
      tokens[r] = static_cast<std::int32_t>(r * r * 7 % static_cast<std::size_t>(size.vocabulary));
    if (tokens.size() > 3) tokens[2] = -1;  // padding
  }
  // Rows of the vocabulary in shard s. The last shard is short if the shards do not divide the
  // vocabulary.
  std::int64_t first(std::int64_t shard) const {
    return std::min(size.vocabulary, shard * ((size.vocabulary + size.shards - 1) / size.shards));
  }
  std::size_t width() const { return static_cast<std::size_t>(size.columns); }
  Tensor ids() { return Tensor(tokens.data(), {size.rows}); }
  Tensor rows_view(test::Array& values) { return values.tensor({size.rows, size.columns}); }
  Tensor shard_view(test::Array& values, std::int64_t shard) {
    return values.tensor({size.vocabulary, size.columns})
        .slice(0, first(shard), first(shard + 1) - first(shard));
  }
  void backward(test::Array& dweight, bool accumulate) {
    test::Scratch scratch(
        embedding_scratch_bytes({size.rows, size.columns}, size.vocabulary, test::space()));
    for (std::int64_t s = 0; s < size.shards; ++s)
      test::run(embedding_backward, shard_view(dweight, s), ids(), rows_view(dy), first(s),
                accumulate, scratch.arena(), scale);
    EXPECT_EQ(scratch.arena().used(), 0U);
    if (size.shards == 1 && test::space() == MemorySpace::host) {
      EXPECT_EQ(scratch.arena().high_water(),
                embedding_scratch_bytes({size.rows, size.columns}, size.vocabulary));
    }
  }

  test::TypePair types = std::get<0>(GetParam());
  Size size = std::get<1>(GetParam());
  float scale = std::get<2>(GetParam());
  std::vector<std::int32_t> tokens = std::vector<std::int32_t>(static_cast<std::size_t>(size.rows));
  test::Array weight = test::Array::random(types.type, size.vocabulary* size.columns, 1);
  test::Array dy = test::Array::random(types.type, size.rows* size.columns, 2);
};

TEST_P(Embedding, ForwardShardsAddUpToTheWhole) {
  std::vector<double> total(static_cast<std::size_t>(dy.count()), 0.0);
  for (std::int64_t s = 0; s < size.shards; ++s) {
    test::Array y(types.type, dy.count(), 9.0F);
    test::run(embedding_forward, rows_view(y), ids(), shard_view(weight, s), first(s), scale);
    test::add(total, y.doubles());
  }
  const auto expected =
      reference::embedding_forward(tokens, weight.doubles(), width(), double{scale});
  if (scale == 1.0F)
    EXPECT_EQ(total, expected);
  else
    test::expect_close(total, expected, tolerance + test::rounding_of(types.type), "y");
}

TEST_P(Embedding, BackwardFillsEachShard) {
  test::Array dweight(types.gradients, weight.count(), 9.0F);
  backward(dweight, false);
  auto expected = reference::embedding_backward(
      tokens, dy.doubles(), static_cast<std::size_t>(size.vocabulary), width(), double{scale});
  test::expect_close(dweight, expected, of_sums, "dweight");

  test::Array accumulated = test::Array::random(types.gradients, weight.count(), 3);
  test::add(expected, accumulated.doubles());
  backward(accumulated, true);
  test::expect_close(accumulated, expected, of_sums, "accumulated dweight");
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, Embedding,
                         testing::Combine(test::every_type_pair(),
                                          testing::Values(Size{1, 5, 3, 1}, Size{40, 11, 17, 2},
                                                          Size{100, 7, 64, 3}, Size{10, 4, 33, 8},
                                                          Size{9, 3, 1100, 1}),
                                          testing::Values(1.0F, 27.7128F)));

// The sum of a token does not depend on how the vocabulary is split.
TEST_P(Embedding, TheSumOfATokenIsThatOfEveryCut) {
  test::Array cut(types.gradients, weight.count(), 9.0F);
  backward(cut, false);
  size.shards = 1;
  test::Array whole(types.gradients, weight.count(), 9.0F);
  backward(whole, false);
  EXPECT_EQ(cut, whole);
}

// Few tokens with many rows each, which a device sums in segments.
INSTANTIATE_TEST_SUITE_P(ManyRowsOfATokens, Embedding,
                         testing::Combine(test::every_type_pair(),
                                          testing::Values(Size{500, 3, 24, 1}, Size{300, 2, 5, 2},
                                                          Size{129, 1, 8, 1}, Size{64, 1, 8, 1},
                                                          Size{65, 1, 8, 1}, Size{700, 9, 8, 2},
                                                          Size{3000, 40, 3, 2}),
                                          testing::Values(1.0F, 27.7128F)));

class NarrowTable : public testing::TestWithParam<DType> {};

// Rows of 16 bits into float32 are those of the table in float32, bit for bit.
TEST_P(NarrowTable, RowsAreThoseOfTheTableInFloat32) {
  if (test::space() != MemorySpace::host) GTEST_SKIP() << "on the host alone";
  constexpr std::int64_t rows = 9, vocabulary = 13;
  for (const std::int64_t columns : {1, 7, 64, 1100}) {
    test::Array narrow = test::Array::random(GetParam(), vocabulary * columns, 1);
    std::vector<float> values;
    for (const double value : narrow.doubles()) values.push_back(static_cast<float>(value));
    test::Array wide(DType::f32, values);
    std::vector<std::int32_t> tokens = {0, 12, 3, -1, 3, 7, 11, 2, 40};
    const auto rows_from = [&](test::Array& table, float scale) {
      test::Array y(DType::f32, rows * columns, 9.0F);
      const Tensor to = y.tensor({rows, columns}), from = table.tensor({vocabulary, columns});
      embedding_forward(Stream{}, to, Tensor(tokens.data(), {rows}), from, 0, scale);
      position_forward(Stream{}, to, from, 4, 6);
      return y;
    };
    for (const float scale : {1.0F, 27.7128F})
      EXPECT_EQ(rows_from(narrow, scale), rows_from(wide, scale)) << columns;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, NarrowTable, testing::Values(DType::bf16, DType::f16));

class EmbeddingSums : public testing::TestWithParam<DType> {};

// A sum in 16 bits would stop growing once its last bit is worth two.
TEST_P(EmbeddingSums, ManyRowsOfATokenAllCount) {
  constexpr std::int64_t rows = 5000;
  std::vector<std::int32_t> tokens(rows, 0);
  test::Array ones(GetParam(), rows, 1.0F);
  test::Array dweight(GetParam(), 1);
  test::Scratch scratch(embedding_scratch_bytes({rows, 1}, 1, test::space()));
  test::run(embedding_backward, dweight.tensor({1, 1}), Tensor(tokens.data(), {rows}),
            ones.tensor({rows, 1}), 0, false, scratch.arena(), 1.0F);
  test::expect_close(dweight, {double{rows}}, tolerance, "tokens");
  test::run(position_backward, dweight.tensor({1, 1}), ones.tensor({rows, 1}), 0, 1, false);
  test::expect_close(dweight, {double{rows}}, tolerance, "positions");
}

INSTANTIATE_TEST_SUITE_P(Types, EmbeddingSums, test::every_type());

TEST(EmbeddingScratch, OfADeviceHasASumForEachSegmentAndOfTheHostNoSums) {
  constexpr std::int64_t rows = 8192;
  constexpr std::int64_t columns = 768;
  EXPECT_EQ(embedding_scratch_bytes({rows, columns}, 50257, MemorySpace::device),
            (3 * rows + rows / 64 * columns) * 4 + 2 * rows * 8);
  EXPECT_EQ(embedding_scratch_bytes({rows, columns}, 51199), (rows + 51200) * 4);
}

class Position : public testing::TestWithParam<test::TypePair> {};

TEST_P(Position, RowsOfSequencesThatStartAnywhere) {
  constexpr std::int64_t rows = 11;
  constexpr std::int64_t columns = 6;
  constexpr std::int64_t length = 4;
  constexpr std::int64_t first_row = 6;
  constexpr std::int64_t table_rows = length + 1;  // one position more than is used
  const auto [type, gradients] = GetParam();
  test::Array weight = test::Array::random(type, table_rows * columns, 1);
  test::Array y = test::Array::random(type, rows * columns, 2);
  const auto positions = reference::positions(first_row, rows, length);
  auto expected = reference::embedding_forward(positions, weight.doubles(), columns);
  test::add(expected, y.doubles());
  test::run(position_forward, y.tensor({rows, columns}), weight.tensor({table_rows, columns}),
            first_row, length);
  test::expect_close(y, expected, tolerance, "y");

  test::Array dy = test::Array::random(type, rows * columns, 3);
  test::Array dweight = test::Array::random(gradients, table_rows * columns, 4);
  const test::Array before = dweight;
  expected = reference::embedding_backward(positions, dy.doubles(), table_rows, columns);
  const Tensor upstream = dy.tensor({rows, columns});
  test::run(position_backward, dweight.tensor({table_rows, columns}), upstream, first_row, length,
            false);
  test::expect_close(dweight, expected, tolerance, "dweight");
  dweight = before;
  test::add(expected, before.doubles());
  test::run(position_backward, dweight.tensor({table_rows, columns}), upstream, first_row, length,
            true);
  test::expect_close(dweight, expected, tolerance, "accumulated dweight");
}

INSTANTIATE_TEST_SUITE_P(Types, Position, test::every_type_pair());

TEST(PositionShapes, FewerRowsThanPositions) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    test::Array dy(dtype, 2, 1.0F);
    test::Array dweight(dtype, 4, 9.0F);
    test::run(position_backward, dweight.tensor({4, 1}), dy.tensor({2, 1}), 3, 4, false);
    EXPECT_EQ(dweight, test::Array(dtype, {1.0F, 0.0F, 0.0F, 1.0F}));
  }
}

TEST(PositionShapes, RefusesSequencesLongerThanTheTable) {
  std::vector<float> memory(64);
  const Tensor y(memory.data(), {2, 4});
  EXPECT_THROW(test::run(position_forward, y, Tensor(memory.data(), {3, 4}), 0, 5), Error);
}

// table[targets[r]] += dy[r] in row order and float32, rounded at the end: these bits, on any
// number of threads. Rows with target -1 are skipped.
class RowOrderOfSums : public testing::TestWithParam<std::tuple<test::TypePair, std::int64_t>> {
 protected:
  using Backward = std::function<void(const Tensor& dweight, const Tensor& dy, bool accumulate)>;

  void expect_sums(const std::vector<std::int32_t>& targets, const Backward& backward) {
    const auto rows = static_cast<std::int64_t>(targets.size());
    test::Array dy = test::Array::random(types.type, rows * columns, 1);
    const test::Array before = test::Array::random(types.gradients, table_rows * columns, 2);
    const std::vector<float> from = dy.floats();
    const int threads_before = omp_get_max_threads();
    for (const bool accumulate : {false, true}) {
      std::vector<float> sums = before.floats();
      if (!accumulate) std::fill(sums.begin(), sums.end(), 0.0F);
      for (std::int64_t r = 0; r < rows; ++r)
        if (const std::int64_t t = targets[static_cast<std::size_t>(r)]; t >= 0)
          for (std::int64_t c = 0; c < columns; ++c)
            sums[static_cast<std::size_t>(t * columns + c)] +=
                from[static_cast<std::size_t>(r * columns + c)];
      for (const int threads : {1, 2, 3, 7}) {
        omp_set_num_threads(threads);
        test::Array dweight = before;
        backward(dweight.tensor({table_rows, columns}), dy.tensor({rows, columns}), accumulate);
        EXPECT_EQ(dweight, test::Array(types.gradients, sums)) << threads << " threads";
      }
      omp_set_num_threads(threads_before);
    }
  }
  // Tokens first_token, first_token + 1, ...; targets of -1 become tokens of other shards.
  void expect_token_sums(const std::vector<std::int32_t>& targets) {
    constexpr std::int32_t first_token = 50;
    std::vector<std::int32_t> tokens;
    for (std::size_t r = 0; r < targets.size(); ++r)
      tokens.push_back(targets[r] >= 0 ? first_token + targets[r] : std::array{-1, 49, 90}[r % 3]);
    const auto rows = static_cast<std::int64_t>(tokens.size());
    test::Scratch scratch(embedding_scratch_bytes({rows, columns}, table_rows), MemorySpace::host);
    expect_sums(targets, [&](const Tensor& dweight, const Tensor& dy, bool accumulate) {
      embedding_backward(stream, dweight, Tensor(tokens.data(), {rows}), dy, first_token,
                         accumulate, scratch.arena());
    });
  }

  static constexpr std::int64_t table_rows = 40;
  test::TypePair types = std::get<0>(GetParam());
  std::int64_t columns = std::get<1>(GetParam());
  Stream stream;
};

TEST_P(RowOrderOfSums, TokensOfFewRowsAndOfNone) {
  std::vector<std::int32_t> targets;
  for (std::int32_t r = 0; r < 67; ++r) targets.push_back(r * r % 43 < 40 ? r * r % 43 : -1);
  expect_token_sums(targets);
}

// Threads then share the columns.
TEST_P(RowOrderOfSums, ATokenOfMostRows) {
  std::vector<std::int32_t> targets;
  for (std::int32_t r = 0; r < 101; ++r) targets.push_back(r % 5 == 0 ? r % 38 - 1 : 17);
  expect_token_sums(targets);
}

TEST_P(RowOrderOfSums, ATokenOfAllRows) {
  for (const std::size_t rows : {1, 3, 4, 5, 8, 9, 70})
    expect_token_sums(std::vector<std::int32_t>(rows, 39));
}

TEST_P(RowOrderOfSums, NoTokenOfTheShard) {
  expect_token_sums(std::vector<std::int32_t>(9, -1));
}

TEST_P(RowOrderOfSums, Positions) {
  constexpr std::int64_t length = 13, first_row = 47;
  for (const std::int64_t rows : {1, 12, 13, 14, 53, 130}) {
    std::vector<std::int32_t> targets;
    for (std::int64_t r = 0; r < rows; ++r)
      targets.push_back(static_cast<std::int32_t>((first_row + r) % length));
    expect_sums(targets, [&](const Tensor& dweight, const Tensor& dy, bool accumulate) {
      position_backward(stream, dweight, dy, first_row, length, accumulate);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(TypesAndColumns, RowOrderOfSums,
                         testing::Combine(test::every_type_pair(),
                                          testing::Values(1, 16, 75, 225, 1029)));

TEST(EmbeddingReference, GradientIsThatOfTheForwardPass) {
  const std::vector<std::int32_t> tokens = {1, 0, -1, 1};
  const auto weight = test::widen(test::random_values(3 * 5, 1));
  const auto dy = test::widen(test::random_values(4 * 5, 2));
  for (const double scale : {1.0, 2.5})
    test::expect_gradient(
        [&](const std::vector<double>& at) {
          return test::dot(reference::embedding_forward(tokens, at, 5, scale), dy);
        },
        weight, reference::embedding_backward(tokens, dy, 3, 5, scale), "dweight");
}

}  // namespace
}  // namespace triax
