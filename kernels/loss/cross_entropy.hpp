#pragma once
// Cross-entropy over a vocabulary that may be sharded over the tensor axis (Megatron-LM, Shoeybi et
// al. 2019). Each shard makes three numbers a row; gathered, they give loss and gradient
// everywhere. Where the vocabulary is whole, one function does it all.
#include "kernels/base/device/device.hpp"

namespace triax {

/// For a vocabulary that is all here: loss[r], and logits = their gradient, to the bit as the three
/// functions below make them of one shard, but each row comes from memory once.
void cross_entropy(const Stream& stream, const Tensor& loss, const Tensor& logits,
                   const Tensor& labels, std::int64_t columns, float scale);

/// stats[r] = {max of the row, sum of exp(logit - max), logit of the label or 0 if it is not in
/// this shard}. logits: (N, V_local), of which the first `columns` are real (the rest is padding
/// and never read); labels: (N) int32, -1: ignored; stats: (N, 3) float32. With columns == 0:
/// {-inf, 0, 0}.
void cross_entropy_stats(const Stream& stream, const Tensor& stats, const Tensor& logits,
                         const Tensor& labels, std::int64_t first_token, std::int64_t columns);

/// From the stats of all shards: loss[r] = lse - logit of the label (0 where ignored), lse[r].
/// stats: (shards, N, 3); loss, lse: (N) float32.
void cross_entropy_loss(const Stream& stream, const Tensor& loss, const Tensor& lse,
                        const Tensor& stats, const Tensor& labels);

/// logits = scale * (softmax - onehot(label)) in place; padding columns and ignored rows become
/// zero. lse being a float, softmax is off by 6e-8 |lse| of itself.
void cross_entropy_backward(const Stream& stream, const Tensor& logits, const Tensor& lse,
                            const Tensor& labels, std::int64_t first_token, std::int64_t columns,
                            float scale);

}  // namespace triax
