#include "kernels/embedding.hpp"

#include <gtest/gtest.h>

#include "kernels/reference/embedding.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/kernels/matrix.hpp"

namespace triax {
namespace {

constexpr double tolerance = 1e-6;

struct Size {
  std::int64_t rows, vocabulary, columns, shards;
};

class Embedding : public testing::TestWithParam<Size> {
 protected:
  void SetUp() override {
    for (std::size_t r = 0; r < tokens.size(); ++r)
      tokens[r] = static_cast<std::int32_t>(r * r * 7 % static_cast<std::size_t>(size.vocabulary));
    if (tokens.size() > 3) tokens[2] = -1;  // padding
  }
  // Rows of the vocabulary that shard s holds: the last is short where the shards do not divide it.
  std::int64_t first(std::int64_t shard) const {
    return std::min(size.vocabulary, shard * ((size.vocabulary + size.shards - 1) / size.shards));
  }
  std::size_t width() const { return static_cast<std::size_t>(size.columns); }
  Tensor ids() { return Tensor(tokens.data(), {size.rows}); }
  Tensor rows_view(std::vector<float>& values) {
    return Tensor(values.data(), {size.rows, size.columns});
  }
  Tensor shard_view(std::vector<float>& values, std::int64_t shard) {
    return Tensor(values.data(), {size.vocabulary, size.columns})
        .slice(0, first(shard), first(shard + 1) - first(shard));
  }

  Size size = GetParam();
  std::vector<std::int32_t> tokens = std::vector<std::int32_t>(static_cast<std::size_t>(size.rows));
  std::vector<float> weight = test::random_values(size.vocabulary * size.columns, 1);
  std::vector<float> dy = test::random_values(size.rows * size.columns, 2);
};

TEST_P(Embedding, ForwardShardsAddUpToTheWhole) {
  std::vector<double> total(dy.size(), 0.0);
  for (std::int64_t s = 0; s < size.shards; ++s) {
    std::vector<float> y(dy.size(), 9.0F);
    embedding_forward(Stream(), rows_view(y), ids(), shard_view(weight, s), first(s));
    for (std::size_t i = 0; i < y.size(); ++i) total[i] += y[i];
  }
  EXPECT_EQ(total, reference::embedding_forward(tokens, test::widen(weight), width()));
}

TEST_P(Embedding, BackwardFillsEachShard) {
  std::vector<float> dweight(weight.size(), 9.0F);
  for (std::int64_t s = 0; s < size.shards; ++s)
    embedding_backward(Stream(), shard_view(dweight, s), ids(), rows_view(dy), first(s), false);
  auto expected = reference::embedding_backward(tokens, test::widen(dy),
                                                static_cast<std::size_t>(size.vocabulary), width());
  test::expect_close(dweight, expected, tolerance, "dweight");

  std::vector<float> accumulated = weight;
  for (std::int64_t s = 0; s < size.shards; ++s)
    embedding_backward(Stream(), shard_view(accumulated, s), ids(), rows_view(dy), first(s), true);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += weight[i];
  test::expect_close(accumulated, expected, tolerance, "accumulated dweight");
}

INSTANTIATE_TEST_SUITE_P(Sizes, Embedding,
                         testing::Values(Size{1, 5, 3, 1}, Size{40, 11, 17, 2}, Size{100, 7, 64, 3},
                                         Size{10, 4, 33, 8}));

TEST(Position, RowsOfSequencesThatStartAnywhere) {
  constexpr std::int64_t rows = 11;
  constexpr std::int64_t columns = 6;
  constexpr std::int64_t length = 4;
  constexpr std::int64_t first_row = 6;
  std::vector<float> weight =
      test::random_values((length + 1) * columns, 1);  // one position more than used
  std::vector<float> y = test::random_values(rows * columns, 2);
  const auto positions = reference::positions(first_row, rows, length);
  auto expected = reference::embedding_forward(positions, test::widen(weight), columns);
  for (std::size_t i = 0; i < y.size(); ++i) expected[i] += y[i];
  const Tensor table(weight.data(), {length + 1, columns});
  position_forward(Stream(), Tensor(y.data(), {rows, columns}), table, first_row, length);
  test::expect_close(y, expected, tolerance, "y");

  std::vector<float> dy = test::random_values(rows * columns, 3);
  std::vector<float> dweight = test::random_values((length + 1) * columns, 4);
  const std::vector<float> before = dweight;
  expected = reference::embedding_backward(positions, test::widen(dy), length + 1, columns);
  const Tensor gradient(dweight.data(), {length + 1, columns});
  const Tensor upstream(dy.data(), {rows, columns});
  position_backward(Stream(), gradient, upstream, first_row, length, false);
  test::expect_close(dweight, expected, tolerance, "dweight");
  dweight = before;
  for (std::size_t i = 0; i < before.size(); ++i) expected[i] += before[i];
  position_backward(Stream(), gradient, upstream, first_row, length, true);
  test::expect_close(dweight, expected, tolerance, "accumulated dweight");
}

TEST(Position, RefusesSequencesLongerThanTheTable) {
  std::vector<float> memory(64);
  const Tensor y(memory.data(), {2, 4});
  EXPECT_THROW(position_forward(Stream(), y, Tensor(memory.data(), {3, 4}), 0, 5), Error);
}

TEST(EmbeddingReference, GradientIsThatOfTheForwardPass) {
  const std::vector<std::int32_t> tokens = {1, 0, -1, 1};
  const auto weight = test::widen(test::random_values(3 * 5, 1));
  const auto dy = test::widen(test::random_values(4 * 5, 2));
  test::expect_gradient(
      [&](const std::vector<double>& at) {
        return test::dot(reference::embedding_forward(tokens, at, 5), dy);
      },
      weight, reference::embedding_backward(tokens, dy, 3, 5), "dweight");
}

}  // namespace
}  // namespace triax
