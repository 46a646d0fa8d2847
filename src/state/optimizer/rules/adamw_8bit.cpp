// SPDX-License-Identifier: Apache-2.0
// AdamW with 8-bit moments, as bitsandbytes' AdamW8bit (Dettmers et al. 2022). The update itself is
// PyTorch's: the decay comes before the step.
#include "kernels/optimizer/quantized/adamw_8bit.hpp"

#include "src/state/optimizer/rules/parameter.hpp"
#include "src/state/optimizer/rules/rows.hpp"

namespace triax::rules {
namespace {
using enum KeyType;

std::vector<RuleParameter> parameters() {
  return with_common(
      1e-3,
      {betas_parameter(0.9, 0.999, "decay of the first and second moments"),
       epsilon_parameter(1e-8, "added to the root of the second moment"),
       refused_parameter("amsgrad", boolean, false, "largest second moment so far",
                         "AMSGrad is not built yet"),
       refused_parameter("min_8bit_size", integer, 4096,
                         "tensors of fewer elements keep float32 moments", "it is 4096 here"),
       refused_parameter("percentile_clipping", integer, 100,
                         "clipping by the norms of earlier steps", "set gradient_clipping"),
       refused_parameter("block_wise", boolean, true, "one scale per 256 elements",
                         "moments have no other form here")},
      decoupled_decay);
}

std::vector<StateKind> states(const OptimizerConfig& /*config*/) {
  return {{.name = "exp_avg", .type = DType::u8, .scale = "exp_avg_sq", .packed = CodeMap::signs},
          {.name = "exp_avg_sq", .type = DType::u8, .packed = CodeMap::positive}};
}

void update(const Stream& stream, const UpdateTensors& tensors, const UpdateStep& step) {
  const auto& [parameter, weights, gradient, factor, moments] = tensors;
  const bool small = moments[0].dtype() == DType::f32;
  (small ? triax::adamw : triax::adamw_8bit)(stream, parameter, weights, gradient, factor,
                                             moments[0], moments[1],
                                             {.learning_rate = step.learning_rate,
                                              .beta1 = step.beta1,
                                              .beta2 = step.beta2,
                                              .epsilon = step.number("eps"),
                                              .weight_decay = step.weight_decay,
                                              .clip_value = step.clip_value(),
                                              .step = step.updates[0],
                                              .stochastic = step.stochastic});
}

}  // namespace

const OptimizerRule adamw_8bit = {.name = "AdamW8bit",
                                  .other_names = {"adamw_8bit", "adamw_bnb_8bit"},
                                  .parameters = parameters,
                                  .states = states,
                                  .update = update};

}  // namespace triax::rules
