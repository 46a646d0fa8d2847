// SPDX-License-Identifier: Apache-2.0
// AdamW, and DeepSpeed's Adam, which is AdamW unless adam_w_mode is false. Defaults are those of
// DeepSpeed's FusedAdam.
#include "kernels/optimizer/adamw.hpp"
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
       {optimizer_key("adam_w_mode", boolean, true, anything(),
                      "decoupled decay; false: Adam adds the decay to the gradient (AdamW ignores "
                      "this, as in DeepSpeed)")},
       refused_parameter("bias_correction", boolean, true,
                         "moments corrected for their start at zero",
                         "AdamW here is Loshchilov and Hutter's"),
       refused_parameter("amsgrad", boolean, false, "largest second moment so far",
                         "AMSGrad is not built yet")},
      decoupled_decay);
}

std::vector<StateKind> states(const OptimizerConfig& /*config*/) {
  return {{.name = "exp_avg", .scale = "exp_avg_sq"}, {.name = "exp_avg_sq"}};
}

void update(const Stream& stream, const UpdateTensors& tensors, const UpdateStep& step,
            bool decoupled) {
  const auto& [parameter, weights, gradient, factor, moments] = tensors;
  triax::adamw(stream, parameter, weights, gradient, factor, moments[0], moments[1],
               {.learning_rate = step.learning_rate,
                .beta1 = step.beta1,
                .beta2 = step.beta2,
                .epsilon = step.number("eps"),
                .weight_decay = step.weight_decay,
                .decoupled = decoupled,
                .clip_value = step.clip_value(),
                .step = step.updates[0],
                .stochastic = step.stochastic});
}

void update_adamw(const Stream& stream, const UpdateTensors& tensors, const UpdateStep& step) {
  update(stream, tensors, step, true);
}

void update_adam(const Stream& stream, const UpdateTensors& tensors, const UpdateStep& step) {
  update(stream, tensors, step, step.flag("adam_w_mode"));
}

}  // namespace

const OptimizerRule adamw = {.name = "AdamW",
                             .other_names = {"adamw_torch", "adamw_torch_fused", "adamw_hf"},
                             .parameters = parameters,
                             .states = states,
                             .update = update_adamw};

const OptimizerRule adam = {.name = "Adam",
                            .other_names = {},
                            .parameters = parameters,
                            .states = states,
                            .update = update_adam};

}  // namespace triax::rules
