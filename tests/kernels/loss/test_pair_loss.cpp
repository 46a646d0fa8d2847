// SPDX-License-Identifier: Apache-2.0
#include "kernels/loss/pair_loss.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/loss/cross_entropy.hpp"
#include "kernels/loss/pair_terms.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

constexpr std::int64_t length = 70, sequences = 6, rows = sequences * length + 3;

// DPO, SimPO and ORPO as src/executor/pair_numbers makes them.
const PairLossOptions dpo{.slope = 0.3, .smoothing = 0.1, .reward = 0.3};
const PairLossOptions simpo{.mean = true, .slope = 2.0, .margin = 0.5, .reward = 2.0};
const PairLossOptions orpo{
    .mean = true, .odds = true, .weight = 0.4, .chosen_weight = 0.05, .reward = 0.4};

void call(const Stream& stream, const Tensor& loss, const Tensor& labels, const Tensor& reference,
          const Tensor& factors, const Tensor& log_probs, const Tensor& sums, const Tensor& whole,
          const PairLossOptions& options) {
  pair_loss(stream, {loss, labels, reference, length}, options, {factors, log_probs, sums, whole});
}

// The third pair has no chosen label.
struct Pairs {
  Pairs() : loss(rows, 9.0F), labels(rows, -100) {
    for (std::int64_t s = 0; s < sequences; ++s)
      for (std::int64_t r = s; r < length - 2 * s && s != 4; ++r) {
        labels[at(s, r)] = 1;
        loss[at(s, r)] = 0.3F + 0.02F * static_cast<float>((r * 7 + s * 3) % 11);
      }
    for (std::int64_t s = 0; s < sequences; ++s) reference.push_back(-20.0 - 3.0 * s);
  }
  static std::size_t at(std::int64_t s, std::int64_t r) {
    return static_cast<std::size_t>(s * length + r);
  }
  void run(const PairLossOptions& options, bool gradients = true) {
    sums.assign(pair_sums, 0.0);
    whole = 0.0;
    test::run(call, Tensor(loss.data(), {rows}), Tensor(labels.data(), {rows}),
              Tensor(reference.data(), {sequences}),
              gradients ? Tensor(factors.data(), {rows}) : Tensor{},
              Tensor(log_probs.data(), {sequences}), Tensor(sums.data(), {pair_sums}),
              Tensor(&whole, {1}), options);
  }
  double sum(PairSum which) const { return sums[static_cast<std::size_t>(which)]; }

  std::vector<float> loss;
  std::vector<std::int32_t> labels;
  std::vector<double> reference, log_probs = std::vector<double>(sequences), sums;
  std::vector<float> factors = std::vector<float>(rows, 7.0F);
  double whole = 0.0;
};

TEST(PairLoss, SumsWhatItCompares) {
  Pairs pairs;
  pairs.run(dpo);
  double chosen = 0.0, count = 0.0;
  for (std::int64_t r = 0; r < length; ++r)
    if (pairs.labels[Pairs::at(0, r)] >= 0) {
      chosen -= static_cast<double>(pairs.loss[Pairs::at(0, r)]);
      ++count;
    }
  EXPECT_NEAR(pairs.log_probs[0], chosen, 1e-12 * std::abs(chosen));
  EXPECT_EQ(pairs.sum(PairSum::pairs), 2.0) << "a pair without chosen labels counts for nothing";
  EXPECT_EQ(pairs.sum(PairSum::chosen_labels), count + 64.0);
  const auto margin = [&](int p) {
    return (pairs.log_probs[2 * p] - pairs.reference[2 * p]) -
           (pairs.log_probs[2 * p + 1] - pairs.reference[2 * p + 1]);
  };
  double expected = 0.0;
  for (const int p : {0, 1}) {
    const double z = 0.3 * margin(p);
    expected += 0.9 * std::log1p(std::exp(-z)) + 0.1 * std::log1p(std::exp(z));
  }
  EXPECT_NEAR(pairs.sum(PairSum::loss), expected, 1e-12);
  EXPECT_NEAR(pairs.whole, expected, 1e-12);
  EXPECT_NEAR(pairs.sum(PairSum::chosen_reward) - pairs.sum(PairSum::rejected_reward),
              0.3 * (margin(0) + margin(1)), 1e-12);
  EXPECT_EQ(pairs.sum(PairSum::preferred),
            (margin(0) > 0.0 ? 1.0 : 0.0) + (margin(1) > 0.0 ? 1 : 0));
}

// d loss / d (cross-entropy of a row) is the factor of the row's gradient.
TEST(PairLoss, FactorsAreDerivatives) {
  for (const PairLossOptions& options : {dpo, simpo, orpo}) {
    Pairs pairs;
    pairs.run(options);
    const std::vector<float> factors = pairs.factors;
    for (std::int64_t s = 0; s < sequences; ++s) {
      const std::size_t row = Pairs::at(s, 20);
      constexpr float step = 0.0625F;
      const auto loss_at = [&](float change) {
        Pairs moved;
        moved.loss[row] += change;
        moved.run(options, false);
        return moved.whole;
      };
      const double slope = (loss_at(step) - loss_at(-step)) / (2.0 * step);
      EXPECT_NEAR(static_cast<double>(factors[row]), slope, 2e-5) << s;
      EXPECT_EQ(factors[row], factors[Pairs::at(s, 0)]);
    }
    EXPECT_EQ(factors[rows - 1], 0.0F) << "padding";
  }
}

TEST(PairLoss, ScoresStayFinite) {
  SequenceSums certain, unlikely;
  certain.labels = unlikely.labels = 2.0;
  unlikely.log_probs = -2000.0;
  for (const PairLossOptions& options : {dpo, simpo, orpo})
    for (const bool right : {true, false}) {
      const PairTerms terms =
          pair_terms(right ? certain : unlikely, right ? unlikely : certain, options);
      EXPECT_TRUE(std::isfinite(terms.loss));
      EXPECT_TRUE(std::isfinite(terms.chosen_factor) && std::isfinite(terms.rejected_factor));
    }
}

// Rounding of a nearly certain answer's log-probability must not become its gradient.
TEST(PairLoss, OddsOfACertainAnswerHaveABoundedSlope) {
  for (const double log_prob : {0.0, -1e-9, -1e-7, -9e-6}) {
    const SequenceScore score = score_of({.log_probs = log_prob, .labels = 1.0}, orpo);
    EXPECT_LT(score.slope, 1.01e5) << log_prob;
    EXPECT_GT(score.slope, 0.99e5) << log_prob;
  }
  EXPECT_NEAR(score_of({.log_probs = std::log(0.75), .labels = 1.0}, orpo).slope, 4.0, 1e-12);
}

void gradient(const Stream& stream, const Tensor& logits, const Tensor& lse, const Tensor& labels,
              const Tensor& factors) {
  scaled_cross_entropy_backward(stream, logits, lse, labels, 0, 3, 0.5F, {}, factors);
}

TEST(PairLoss, FactorsScaleRowsOfCrossEntropy) {
  std::vector<float> factors = {2.0F, -1.5F}, lse = {1.2F, 0.9F}, ones = {1.0F, 1.0F};
  std::vector<std::int32_t> labels = {1, 0};
  const auto gradient_by = [&](std::vector<float>& by) {
    std::vector<float> logits = {0.1F, 0.2F, -0.3F, 0.4F, 0.0F, -0.6F};
    test::run(gradient, Tensor(logits.data(), {2, 3}), Tensor(lse.data(), {2}),
              Tensor(labels.data(), {2}), Tensor(by.data(), {2}));
    return logits;
  };
  const std::vector<float> plain = gradient_by(ones), scaled = gradient_by(factors);
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_FLOAT_EQ(scaled[i], plain[i] * factors[i / 3]) << i;
}

}  // namespace
}  // namespace triax
