// SPDX-License-Identifier: Apache-2.0
#pragma once
// Losses of pairs of sequences, a chosen and a rejected one, of which a model shall prefer the
// first: DPO (Rafailov et al. 2023), ORPO (Hong et al. 2024), SimPO (Meng et al. 2024). Each is a
// function of the log-probabilities of both sequences' label tokens, so the gradient of a row of
// logits is that of its cross-entropy times one factor per sequence.
#include <cstdint>

#include "kernels/base/device/device.hpp"
#include "kernels/loss/cross_entropy.hpp"
#include "kernels/loss/pair_terms.hpp"

namespace triax {

/// Rows of B sequences: chosen, rejected, chosen, ... of `length` rows each. Rows behind them are
/// padding.
struct PairRows {
  Tensor loss;       // (rows) float32: cross-entropy of each row
  Tensor labels;     // (rows) int32; negative: ignored
  Tensor reference;  // (B) float64: log-probability of each sequence under the reference model
  std::int64_t length = 1;
};

struct PairResults {
  Tensor factors;    // (rows) float32: of each row's gradient; empty: not wanted
  Tensor log_probs;  // (B) float64: sums over label tokens; may be PairRows::reference
  Tensor sums;       // (pair_sums) float64, added to
  Tensor loss;       // (1) float64, added to: the loss of all pairs
};

/// A pair with a sequence without label tokens counts for nothing.
void pair_loss(const Stream& stream, const PairRows& rows, const PairLossOptions& options,
               const PairResults& results);

/// cross_entropy_backward() with a factor on each row's scale. factors: (N) float32.
void scaled_cross_entropy_backward(const Stream& stream, const Tensor& logits, const Tensor& lse,
                                   const Tensor& labels, std::int64_t first_token,
                                   std::int64_t columns, float scale, const LogitOptions& options,
                                   const Tensor& factors);

}  // namespace triax
