// SPDX-License-Identifier: Apache-2.0
// Stubs of kernels/cuda/cudnn/attention_cudnn.hpp for a build without cuDNN.
#include "kernels/cuda/cudnn/attention_cudnn.hpp"

namespace triax::cuda {

bool cudnn_attention_forward(const Stream&, const AttentionTensors&, const AttentionOptions&,
                             Arena&) {
  return false;
}

bool cudnn_attention_backward(const Stream&, const AttentionTensors&, const AttentionOptions&,
                              Arena&) {
  return false;
}

std::int64_t cudnn_attention_workspace(const Shape&, DType) {
  return 0;
}

}  // namespace triax::cuda
