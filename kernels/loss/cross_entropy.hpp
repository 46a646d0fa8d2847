// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cross-entropy over a vocabulary that may be sharded over the tensor axis (Megatron-LM, Shoeybi et
// al. 2019). Each shard computes three numbers per row; all-gathered, they give loss and gradient
// on every rank. For an unsharded vocabulary one function does everything. 16-bit logits use coarse
// exponentials (simd/coarse_math.hpp).
#include "kernels/base/device/device.hpp"

namespace triax {

/// Changes of the loss; 0: none.
struct LogitOptions {
  float soft_cap = 0.0F;       ///< logits become soft_cap tanh(logit / soft_cap) (Gemma 2)
  float z_coefficient = 0.0F;  ///< of z-loss (de Brebisson & Vincent 2016; PaLM): adds
                               ///< z_coefficient lse^2 to the loss of each row
};

/// For an unsharded vocabulary: loss[r], and logits = scale * their gradient. Bit for bit the
/// result of the three functions below with one shard, but each row is read from memory once.
void cross_entropy(const Stream& stream, const Tensor& loss, const Tensor& logits,
                   const Tensor& labels, std::int64_t columns, float scale,
                   const LogitOptions& options = {});

/// stats[r] = {max of the row, sum of exp(logit - max), logit of the label, or 0 if the label is in
/// another shard}. logits: (N, V_local), of which the first `columns` are real; the rest is padding
/// and never read. labels: (N) int32; negative: ignored. stats: (N, 3) float32; {-inf, 0, 0} if
/// columns == 0. Of the options only soft_cap matters.
void cross_entropy_stats(const Stream& stream, const Tensor& stats, const Tensor& logits,
                         const Tensor& labels, std::int64_t first_token, std::int64_t columns,
                         const LogitOptions& options = {});

/// loss[r] = lse[r] - logit of the label (0 if ignored), and lse[r], from the stats of all shards.
/// stats: (shards, N, 3); loss, lse: (N) float32. Of the options only z_coefficient matters.
void cross_entropy_loss(const Stream& stream, const Tensor& loss, const Tensor& lse,
                        const Tensor& stats, const Tensor& labels,
                        const LogitOptions& options = {});

/// logits = scale * gradient of the loss by the stored logits, in place: softmax - onehot(label) if
/// there are no options. Padding columns and ignored rows become zero. Because lse is float32,
/// softmax has a relative error of 6e-8 |lse|.
void cross_entropy_backward(const Stream& stream, const Tensor& logits, const Tensor& lse,
                            const Tensor& labels, std::int64_t first_token, std::int64_t columns,
                            float scale, const LogitOptions& options = {});

}  // namespace triax
