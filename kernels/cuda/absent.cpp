// SPDX-License-Identifier: Apache-2.0
// Stubs of the device kernels for a build without CUDA. No stream is a device stream there, so none
// of them is called.
#include "kernels/cuda/absent.hpp"

#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/kernel_times.hpp"
#include "kernels/cuda/launch/stream.hpp"
#include "kernels/cuda/matmul/fp8.hpp"
#include "kernels/cuda/pair_kernels.hpp"
#include "kernels/cuda/state_kernels.hpp"

namespace triax::cuda {

std::shared_ptr<void>& kept_by(const Stream&, Kept) {
  absent("memory of a stream");
}
std::size_t shared_memory_of(const Stream&) {
  absent("shared memory");
}
void time_kernels(const Stream&) {
  absent("times of kernels");
}
std::vector<KernelTime> kernel_times(const Stream&) {
  absent("times of kernels");
}

void adagrad(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
             const Tensor&, const AdagradOptions&) {
  absent("adagrad");
}
void adamw(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
           const Tensor&, const AdamWOptions&) {
  absent("adamw");
}
void adamw_8bit(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                const Tensor&, const Tensor&, const AdamWOptions&) {
  absent("adamw_8bit");
}
void unpack_state(const Stream&, const Tensor&, const Tensor&, std::int64_t, CodeMap) {
  absent("unpack_state");
}
void adan(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
          const Tensor&, const Tensor&, const Tensor&, const AdanOptions&) {
  absent("adan");
}
void lion(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
          const LionOptions&) {
  absent("lion");
}
void muon_momentum(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                   const MuonOptions&) {
  absent("muon_momentum");
}
void muon_step(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
               const MuonOptions&) {
  absent("muon_step");
}
void divide_by_norm(const Stream&, const Tensor&, const Tensor&, double) {
  absent("divide_by_norm");
}
void sgd(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
         const SgdOptions&) {
  absent("sgd");
}
void weight_average(const Stream&, const Tensor&, const Tensor&, const Tensor&, double) {
  absent("weight_average");
}

void cross_entropy(const Stream&, const Tensor&, const Tensor&, const Tensor&, std::int64_t, float,
                   const LogitOptions&) {
  absent("cross_entropy");
}
void cross_entropy_stats(const Stream&, const Tensor&, const Tensor&, const Tensor&, std::int64_t,
                         std::int64_t, const LogitOptions&) {
  absent("cross_entropy_stats");
}
void cross_entropy_loss(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                        const LogitOptions&) {
  absent("cross_entropy_loss");
}
void cross_entropy_backward(const Stream&, const Tensor&, const Tensor&, const Tensor&,
                            std::int64_t, std::int64_t, float, const LogitOptions&) {
  absent("cross_entropy_backward");
}
void scaled_cross_entropy_backward(const Stream&, const Tensor&, const Tensor&, const Tensor&,
                                   std::int64_t, std::int64_t, float, const LogitOptions&,
                                   const Tensor&) {
  absent("scaled_cross_entropy_backward");
}
void pair_loss(const Stream&, const PairRows&, const PairLossOptions&, const PairResults&) {
  absent("pair_loss");
}

void attention_forward(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                       const Tensor&, const AttentionOptions&, Arena&) {
  absent("attention_forward");
}
void attention_backward(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                        const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                        const AttentionOptions&, Arena&) {
  absent("attention_backward");
}
void cached_attention(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                      const AttentionOptions&, Arena&) {
  absent("cached_attention");
}

void dropout(const Stream&, const Tensor&, const Tensor&, const Dropout&, std::int64_t) {
  absent("dropout");
}
void add_noise(const Stream&, const Tensor&, const Noise&, std::int64_t) {
  absent("add_noise");
}

void residual_forward(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
  absent("residual_forward");
}
void add_bias(const Stream&, const Tensor&, const Tensor&) {
  absent("add_bias");
}
void accumulate(const Stream&, const Tensor&, const Tensor&) {
  absent("accumulate");
}
void convert(const Stream&, const Tensor&, const Tensor&) {
  absent("convert");
}
void scale(const Stream&, const Tensor&, const Tensor&, float) {
  absent("scale");
}
void copy_rows(const Stream&, const Tensor&, const Tensor&) {
  absent("copy_rows");
}
void bias_backward(const Stream&, const Tensor&, const Tensor&, bool, Arena&) {
  absent("bias_backward");
}

void embedding_forward(const Stream&, const Tensor&, const Tensor&, const Tensor&, std::int64_t,
                       float) {
  absent("embedding_forward");
}
void embedding_backward(const Stream&, const Tensor&, const Tensor&, const Tensor&, std::int64_t,
                        bool, Arena&, float) {
  absent("embedding_backward");
}
void position_forward(const Stream&, const Tensor&, const Tensor&, std::int64_t, std::int64_t) {
  absent("position_forward");
}
void position_backward(const Stream&, const Tensor&, const Tensor&, std::int64_t, std::int64_t,
                       bool) {
  absent("position_backward");
}

void fp8_quantise(const Stream&, const Tensor&, const Tensor&, const Tensor&, Float8) {
  absent("fp8_quantise");
}
bool fp8_multiply(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Float8Operands&,
                  const MatmulOptions&, const Quantised&, const Quantised&) {
  absent("fp8_multiply");
}

void geglu_forward(const Stream&, const Tensor&, const Tensor&) {
  absent("geglu_forward");
}
void geglu_backward(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
  absent("geglu_backward");
}

void gelu_forward(const Stream&, const Tensor&, const Tensor&, Gelu) {
  absent("gelu_forward");
}
void gelu_backward(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                   Gelu) {
  absent("gelu_backward");
}

void layernorm_forward(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                       float) {
  absent("layernorm_forward");
}
void residual_layernorm_forward(const Stream&, const Tensor&, const Tensor&, const Tensor&,
                                const Tensor&, const Tensor&, const Tensor&, const Tensor&, float) {
  absent("residual_layernorm_forward");
}
void layernorm_backward(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                        const Tensor&, const Tensor&, const Tensor&, float, bool, Arena&) {
  absent("layernorm_backward");
}

void matmul(const Stream&, const Tensor&, const Tensor&, const Tensor&, const MatmulOptions&) {
  absent("matmul");
}

void qk_norm_sums(const Stream&, const Tensor&, const Tensor&) {
  absent("qk_norm_sums");
}
void qk_norm_forward(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                     std::int64_t, float, float) {
  absent("qk_norm_forward");
}
void qk_norm_gradient_sums(const Stream&, const Tensor&, const Tensor&, const Tensor&,
                           const Tensor&, float) {
  absent("qk_norm_gradient_sums");
}
void qk_norm_backward(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                      const Tensor&, const Tensor&, const Tensor&, std::int64_t, float, float, bool,
                      Arena&) {
  absent("qk_norm_backward");
}

void add_sum(const Stream&, const Tensor&, const Tensor&) {
  absent("add_sum");
}
void add_sum_of_squares(const Stream&, const Tensor&, const Tensor&) {
  absent("add_sum_of_squares");
}
void clip_factor(const Stream&, const Tensor&, const Tensor&, const ClipRule&) {
  absent("clip_factor");
}

void fill_normal(const Stream&, const Tensor&, std::uint64_t, std::int64_t, float, float) {
  absent("fill_normal");
}
void fill_constant(const Stream&, const Tensor&, float) {
  absent("fill_constant");
}

void rmsnorm_forward(const Stream&, const Tensor&, const Tensor&, const Tensor&, float, float) {
  absent("rmsnorm_forward");
}
void residual_rmsnorm_forward(const Stream&, const Tensor&, const Tensor&, const Tensor&,
                              const Tensor&, const Tensor&, const Tensor&, float, float) {
  absent("residual_rmsnorm_forward");
}
void rmsnorm_backward(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                      const Tensor&, const Tensor&, float, bool, Arena&, float) {
  absent("rmsnorm_backward");
}

void rope_forward(const Stream&, const Tensor&, const Tensor&, const Tensor&) {
  absent("rope_forward");
}
void rope_backward(const Stream&, const Tensor&, const Tensor&, const Tensor&) {
  absent("rope_backward");
}

void soft_cap(const Stream&, const Tensor&, float) {
  absent("soft_cap");
}

void swiglu_forward(const Stream&, const Tensor&, const Tensor&) {
  absent("swiglu_forward");
}
void swiglu_backward(const Stream&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
  absent("swiglu_backward");
}

}  // namespace triax::cuda
