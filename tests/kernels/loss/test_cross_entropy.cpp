// SPDX-License-Identifier: Apache-2.0
#include "kernels/loss/cross_entropy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/reference/cross_entropy.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

constexpr double tolerance = 2e-6;

// No options, each alone, and both. The cap lies within the logits' range.
const auto every_option = testing::Values(LogitOptions{}, LogitOptions{.soft_cap = 4.0F},
                                          LogitOptions{.z_coefficient = 0.02F},
                                          LogitOptions{.soft_cap = 10.0F, .z_coefficient = 0.03F});

struct Case {
  std::int64_t rows, vocabulary, shards;
};

class CrossEntropy : public testing::TestWithParam<std::tuple<DType, Case, LogitOptions>> {
 protected:
  void SetUp() override {
    for (std::size_t r = 0; r < labels.size(); ++r)
      labels[r] =
          static_cast<std::int32_t>((r * 13 + 5) % static_cast<std::size_t>(size.vocabulary));
    if (size.rows > 2) labels[1] = -1;
    if (size.rows > 3) labels[2] = -100;
    labels.back() = static_cast<std::int32_t>(size.vocabulary - 1);
    local = (size.vocabulary + size.shards - 1) / size.shards;
    for (std::int64_t s = 0; s < size.shards; ++s) shards.push_back(shard_of(s));
  }

  // Every shard has `local` columns. Those beyond the vocabulary hold NaN, which must not be read.
  test::Array shard_of(std::int64_t s) const {
    const std::vector<float> all = logits.floats();
    std::vector<float> out(static_cast<std::size_t>(size.rows * local),
                           std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t r = 0; r < size.rows; ++r)
      for (std::int64_t c = 0; c < columns(s); ++c)
        out[static_cast<std::size_t>(r * local + c)] =
            all[static_cast<std::size_t>(r * size.vocabulary + s * local + c)];
    return test::Array(logits.dtype(), out);
  }
  std::int64_t columns(std::int64_t s) const {
    return std::clamp(size.vocabulary - s * local, std::int64_t{0}, local);
  }
  Tensor shard_view(std::int64_t s) {
    return shards[static_cast<std::size_t>(s)].tensor({size.rows, local});
  }
  Tensor label_view() { return Tensor(labels.data(), {size.rows}); }
  Tensor row_view(std::vector<float>& values) { return Tensor(values.data(), {size.rows}); }

  void forward() {
    const Tensor all(stats.data(), {size.shards, size.rows, 3});
    for (std::int64_t s = 0; s < size.shards; ++s)
      test::run(cross_entropy_stats, all.slice(0, s, 1).reshape({size.rows, 3}), shard_view(s),
                label_view(), s * local, columns(s), options);
    test::run(cross_entropy_loss, row_view(loss), row_view(lse), all, label_view(), options);
  }

  Case size = std::get<1>(GetParam());
  LogitOptions options = std::get<2>(GetParam());
  std::int64_t local = 0;
  test::Array logits =
      test::Array::random(std::get<0>(GetParam()), size.rows* size.vocabulary, 1, 5.0F);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(static_cast<std::size_t>(size.rows));
  std::vector<test::Array> shards;
  std::vector<float> stats =
      std::vector<float>(static_cast<std::size_t>(size.shards * size.rows * 3));
  std::vector<float> loss = std::vector<float>(labels.size(), 9.0F);
  std::vector<float> lse = loss;
};

TEST_P(CrossEntropy, LossAgreesWithReferenceHoweverSharded) {
  forward();
  const auto wide = logits.doubles();
  test::expect_close(loss, reference::cross_entropy_loss(wide, labels, options), tolerance, "loss");
  test::expect_close(lse,
                     reference::log_sum_exp(reference::capped_logits(wide, options.soft_cap),
                                            static_cast<std::size_t>(size.vocabulary)),
                     tolerance, "lse");
}

TEST_P(CrossEntropy, GradientAgreesWithReferenceHoweverSharded) {
  constexpr float scale = 0.125F;
  forward();
  const auto expected = reference::cross_entropy_backward(logits.doubles(), labels, scale, options);
  std::vector<double> gathered(expected.size());
  for (std::int64_t s = 0; s < size.shards; ++s) {
    test::run(cross_entropy_backward, shard_view(s), row_view(lse), label_view(), s * local,
              columns(s), scale, options);
    const std::vector<double> gradient = shards[static_cast<std::size_t>(s)].doubles();
    for (std::int64_t r = 0; r < size.rows; ++r) {
      const double* row = gradient.data() + r * local;
      std::copy_n(row, columns(s), gathered.data() + r * size.vocabulary + s * local);
      for (std::int64_t c = columns(s); c < local; ++c) EXPECT_EQ(row[c], 0.0) << "padding";
    }
  }
  // The slope of a cap, 1 - tanh^2, cancels where the cap bends most.
  const double bent = options.soft_cap > 0.0F ? 5.0 : 1.0;
  test::expect_close(gathered, expected, bent * tolerance + test::rounding_of(logits.dtype()),
                     "gradient");
}

INSTANTIATE_TEST_SUITE_P(TypesAndShards, CrossEntropy,
                         testing::Combine(test::every_type(),
                                          testing::Values(Case{1, 2, 1}, Case{3, 50, 1},
                                                          Case{4, 50, 2}, Case{5, 50, 3},
                                                          Case{6, 7, 3}, Case{3, 4, 3},
                                                          Case{3, 5003, 1}, Case{3, 5003, 3}),
                                          every_option));

// Rows of `stored` logits, with NaN behind the vocabulary: rows of one warp, ragged rows, and rows
// that a GPU's shared memory holds in part.
struct Whole {
  std::int64_t rows, vocabulary, stored;
};

class WholeCrossEntropy : public testing::TestWithParam<std::tuple<DType, Whole, LogitOptions>> {
 protected:
  DType dtype = std::get<0>(GetParam());
  Whole size = std::get<1>(GetParam());
  LogitOptions options = std::get<2>(GetParam());
  test::Array real = test::Array::random(dtype, size.rows* size.vocabulary, 1, 5.0F);
  test::Array logits =
      test::Array(dtype, test::spread(real.floats(), static_cast<std::size_t>(size.vocabulary),
                                      static_cast<std::size_t>(size.stored),
                                      std::numeric_limits<float>::quiet_NaN()));
  std::vector<std::int32_t> labels = some_labels();
  std::vector<float> loss = std::vector<float>(labels.size(), 9.0F);

  std::vector<std::int32_t> some_labels() const {
    std::vector<std::int32_t> made(static_cast<std::size_t>(size.rows), -1);
    made[0] = static_cast<std::int32_t>(size.vocabulary / 3);
    made.back() = static_cast<std::int32_t>(size.vocabulary - 1);
    return made;
  }
  Tensor view(test::Array& of) { return of.tensor({size.rows, size.stored}); }
  Tensor of_rows(std::vector<float>& values) { return Tensor(values.data(), {size.rows}); }
  Tensor label_view() { return Tensor(labels.data(), {size.rows}); }
};

TEST_P(WholeCrossEntropy, AgreesWithReference) {
  constexpr float scale = 0.125F;
  test::run(cross_entropy, of_rows(loss), view(logits), label_view(), size.vocabulary, scale,
            options);
  test::expect_close(loss, reference::cross_entropy_loss(real.doubles(), labels, options),
                     tolerance, "loss");
  const auto expected = reference::cross_entropy_backward(real.doubles(), labels, scale, options);
  const std::vector<double> found = logits.doubles();
  std::vector<double> gradient(expected.size());
  for (std::int64_t r = 0; r < size.rows; ++r) {
    const double* row = found.data() + r * size.stored;
    std::copy_n(row, size.vocabulary, gradient.data() + r * size.vocabulary);
    for (std::int64_t c = size.vocabulary; c < size.stored; ++c) EXPECT_EQ(row[c], 0.0);
  }
  test::expect_close(gradient, expected, tolerance + test::rounding_of(dtype), "gradient");
}

TEST_P(WholeCrossEntropy, IsToTheBitThatOfOneShard) {
  constexpr float scale = 0.7F;
  test::Array apart = logits;
  test::run(cross_entropy, of_rows(loss), view(logits), label_view(), size.vocabulary, scale,
            options);
  std::vector<float> stats(3 * labels.size()), lse(labels.size()), of_shards(labels.size());
  test::run(cross_entropy_stats, Tensor(stats.data(), {size.rows, 3}), view(apart), label_view(), 0,
            size.vocabulary, options);
  test::run(cross_entropy_loss, of_rows(of_shards), of_rows(lse),
            Tensor(stats.data(), {1, size.rows, 3}), label_view(), options);
  test::run(cross_entropy_backward, view(apart), of_rows(lse), label_view(), 0, size.vocabulary,
            scale, options);
  EXPECT_EQ(loss, of_shards);
  EXPECT_EQ(logits.floats(), apart.floats());
}

INSTANTIATE_TEST_SUITE_P(
    TypesAndSizes, WholeCrossEntropy,
    testing::Combine(test::every_type(),
                     testing::Values(Whole{1, 2, 2}, Whole{3, 50, 64}, Whole{3, 4096, 4096},
                                     Whole{4, 5003, 5003}, Whole{3, 50257, 50272},
                                     Whole{2, 100003, 100016}),
                     every_option));

class CrossEntropyTypes : public testing::TestWithParam<DType> {};

TEST_P(CrossEntropyTypes, GradientOfASureLabelKeepsItsPrecision) {
  test::Array logits(GetParam(), {7.0F, 0.0F});
  std::vector<std::int32_t> labels = {0};
  const auto expected = reference::cross_entropy_backward(logits.doubles(), labels, 1.0);
  auto lse = static_cast<float>(reference::log_sum_exp(logits.doubles(), 2)[0]);
  test::run(cross_entropy_backward, logits.tensor({1, 2}), Tensor(&lse, {1}),
            Tensor(labels.data(), {1}), 0, 2, 1.0F, LogitOptions{});
  constexpr double of_float32_near_one = 0x1p-24 / 9e-4;  // softmax - 1 cancels to 9e-4
  test::expect_close(logits, expected, 4 * of_float32_near_one, "gradient");
}

INSTANTIATE_TEST_SUITE_P(Types, CrossEntropyTypes, test::every_type());

TEST(CrossEntropy, ShardOfPaddingAlone) {
  std::vector<float> logits(4, std::numeric_limits<float>::quiet_NaN());
  std::vector<std::int32_t> labels = {0, 1};
  std::vector<float> stats(6, 5.0F);
  test::run(cross_entropy_stats, Tensor(stats.data(), {2, 3}), Tensor(logits.data(), {2, 2}),
            Tensor(labels.data(), {2}), 8, 0, LogitOptions{});
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(stats, (std::vector<float>{-infinity, 0, 0, -infinity, 0, 0}));
}

TEST(CrossEntropyReference, GradientIsThatOfTheLoss) {
  const std::vector<std::int32_t> labels = {2, -1, 0};
  const auto logits = test::widen(test::random_values(3 * 7, 1));
  for (const LogitOptions& options :
       {LogitOptions{}, LogitOptions{.soft_cap = 1.5F, .z_coefficient = 0.3F}})
    test::expect_gradient(
        [&](const std::vector<double>& at) {
          double total = 0.0;
          for (const double loss : reference::cross_entropy_loss(at, labels, options))
            total += 0.5 * loss;
          return total;
        },
        logits, reference::cross_entropy_backward(logits, labels, 0.5, options), "dlogits");
}

}  // namespace
}  // namespace triax
