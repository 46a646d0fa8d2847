// SPDX-License-Identifier: Apache-2.0
#pragma once
// Device bodies of the kernels. Each has the signature of its public function, which calls it if
// the stream is a device stream. The .cu files define them; absent.cpp defines stubs in a build
// without CUDA.
#include "kernels/activation/elementwise.hpp"
#include "kernels/activation/geglu.hpp"
#include "kernels/activation/gelu.hpp"
#include "kernels/activation/swiglu.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/attention/cached_attention.hpp"
#include "kernels/attention/rope.hpp"
#include "kernels/embedding/embedding.hpp"
#include "kernels/loss/cross_entropy.hpp"
#include "kernels/loss/soft_cap.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/norm/layernorm.hpp"
#include "kernels/norm/qk_norm.hpp"
#include "kernels/norm/rmsnorm.hpp"
#include "kernels/optimizer/adagrad.hpp"
#include "kernels/optimizer/adamw.hpp"
#include "kernels/optimizer/adan.hpp"
#include "kernels/optimizer/grad_norm.hpp"
#include "kernels/optimizer/lion.hpp"
#include "kernels/optimizer/quantized/adamw_8bit.hpp"
#include "kernels/optimizer/sgd.hpp"
#include "kernels/random/dropout.hpp"
#include "kernels/random/random.hpp"

namespace triax {

/// Whether the device body must run. Every public function asks this first.
inline bool on_device(const Stream& stream) {
  return stream.space() == MemorySpace::device;
}

namespace cuda {

decltype(triax::adagrad) adagrad;
decltype(triax::adamw) adamw;
decltype(triax::adamw_8bit) adamw_8bit;
decltype(triax::unpack_state) unpack_state;
decltype(triax::adan) adan;
decltype(triax::lion) lion;
decltype(triax::sgd) sgd;

decltype(triax::attention_forward) attention_forward;
decltype(triax::attention_backward) attention_backward;
decltype(triax::cached_attention) cached_attention;

decltype(triax::cross_entropy) cross_entropy;
decltype(triax::cross_entropy_stats) cross_entropy_stats;
decltype(triax::cross_entropy_loss) cross_entropy_loss;
decltype(triax::cross_entropy_backward) cross_entropy_backward;

decltype(triax::dropout) dropout;

decltype(triax::residual_forward) residual_forward;
decltype(triax::add_bias) add_bias;
decltype(triax::accumulate) accumulate;
decltype(triax::convert) convert;
decltype(triax::scale) scale;
decltype(triax::copy_rows) copy_rows;
decltype(triax::bias_backward) bias_backward;

decltype(triax::embedding_forward) embedding_forward;
decltype(triax::embedding_backward) embedding_backward;
decltype(triax::position_forward) position_forward;
decltype(triax::position_backward) position_backward;

decltype(triax::geglu_forward) geglu_forward;
decltype(triax::geglu_backward) geglu_backward;

decltype(triax::gelu_forward) gelu_forward;
decltype(triax::gelu_backward) gelu_backward;

decltype(triax::layernorm_forward) layernorm_forward;
decltype(triax::residual_layernorm_forward) residual_layernorm_forward;
decltype(triax::layernorm_backward) layernorm_backward;

decltype(triax::matmul) matmul;

decltype(triax::qk_norm_sums) qk_norm_sums;
decltype(triax::qk_norm_forward) qk_norm_forward;
decltype(triax::qk_norm_gradient_sums) qk_norm_gradient_sums;
decltype(triax::qk_norm_backward) qk_norm_backward;

decltype(triax::add_sum) add_sum;
decltype(triax::add_sum_of_squares) add_sum_of_squares;
decltype(triax::clip_factor) clip_factor;

decltype(triax::fill_normal) fill_normal;
decltype(triax::fill_constant) fill_constant;

decltype(triax::rmsnorm_forward) rmsnorm_forward;
decltype(triax::residual_rmsnorm_forward) residual_rmsnorm_forward;
decltype(triax::rmsnorm_backward) rmsnorm_backward;

decltype(triax::rope_forward) rope_forward;
decltype(triax::rope_backward) rope_backward;

decltype(triax::soft_cap) soft_cap;

decltype(triax::swiglu_forward) swiglu_forward;
decltype(triax::swiglu_backward) swiglu_backward;

}  // namespace cuda
}  // namespace triax
