// SPDX-License-Identifier: Apache-2.0
// Lion (Chen et al. 2023). Defaults are those of DeepSpeed's FusedLion.
#include "kernels/optimizer/lion.hpp"

#include "src/state/optimizer/rules/parameter.hpp"
#include "src/state/optimizer/rules/rows.hpp"

namespace triax::rules {
namespace {

std::vector<RuleParameter> parameters() {
  return with_common(
      1e-3, {betas_parameter(0.9, 0.99, "share of the mean gradient in the update, and its decay")},
      decoupled_decay);
}

std::vector<StateKind> states(const OptimizerConfig& /*config*/) {
  return {{.name = "exp_avg"}};
}

void update(const Stream& stream, const UpdateTensors& tensors, const UpdateStep& step) {
  triax::lion(stream, tensors.parameter, tensors.weights, tensors.gradient, tensors.factor,
              tensors.states[0],
              {.learning_rate = step.learning_rate,
               .beta1 = step.beta1,
               .beta2 = step.beta2,
               .weight_decay = step.weight_decay,
               .clip_value = step.clip_value(),
               .stochastic = step.stochastic});
}

}  // namespace

const OptimizerRule lion = {.name = "Lion",
                            .other_names = {"lion_32bit"},
                            .parameters = parameters,
                            .states = states,
                            .update = update};

}  // namespace triax::rules
