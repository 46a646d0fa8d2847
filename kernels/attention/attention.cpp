// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/attention.hpp"

#include <algorithm>

#include "kernels/attention/bf16.hpp"
#include "kernels/attention/work.hpp"
#include "kernels/cuda/cudnn/attention_cudnn.hpp"

namespace triax {

std::size_t attention_scratch_bytes(const Shape& queries, DType type, MemorySpace space) {
  const std::int64_t sequence_length = queries[1];
  const std::int64_t head_size = queries[3];
  if (space == MemorySpace::device) {
    Arena device;
    attention::take_delta(device, queries[0], queries[2], sequence_length);
    device.take("attention cuDNN", DType::u8, {cuda::cudnn_attention_workspace(queries, type)});
    return device.high_water();
  }
  // Workers of the forward pass. The backward pass has no more: one item per head of keys.
  const std::int64_t workers = attention::workers_for(queries[0] * queries[2]);
  Arena forward;
  const attention::ForwardScratch forward_scratch(forward, workers, sequence_length, head_size);
  Arena backward;
  const attention::BackwardScratch backward_scratch(backward, workers, sequence_length, head_size);
  Arena pair_forward;
  const attention::PairForwardScratch pair_forward_scratch(pair_forward, workers, sequence_length,
                                                           head_size);
  Arena pair_backward;
  const attention::PairBackwardScratch pair_backward_scratch(pair_backward, workers,
                                                             sequence_length, head_size);
  return std::max({forward.high_water(), backward.high_water(), pair_forward.high_water(),
                   pair_backward.high_water()});
}

}  // namespace triax
