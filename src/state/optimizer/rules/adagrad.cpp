// SPDX-License-Identifier: Apache-2.0
// Adagrad (Duchi et al. 2011), as torch.optim.Adagrad.
#include "kernels/optimizer/adagrad.hpp"

#include "src/state/optimizer/rules/parameter.hpp"
#include "src/state/optimizer/rules/rows.hpp"

namespace triax::rules {
namespace {
using enum KeyType;

std::vector<RuleParameter> parameters() {
  return with_common(
      1e-2,
      {epsilon_parameter(1e-10, "added to the root of the sum of squares"),
       {optimizer_key("lr_decay", number, 0.0, at_least(0),
                      "step t, from 0, has the learning rate lr / (1 + t lr_decay)")},
       refused_parameter("initial_accumulator_value", number, 0.0, "start of the sum of squares",
                         "it starts from zero here"),
       refused_parameter("amsgrad", boolean, false, "largest second moment so far",
                         "AMSGrad is not built yet")},
      decay_in_gradient);
}

std::vector<StateKind> states(const OptimizerConfig& /*config*/) {
  return {{.name = "sum"}};
}

void update(const Stream& stream, const UpdateTensors& tensors, const UpdateStep& step) {
  const double decay = 1.0 + static_cast<double>(step.step - 1) * step.number("lr_decay");
  triax::adagrad(stream, tensors.parameter, tensors.weights, tensors.gradient, tensors.factor,
                 tensors.states[0],
                 {.learning_rate = step.learning_rate / decay,
                  .epsilon = step.number("eps"),
                  .weight_decay = step.weight_decay,
                  .clip_value = step.clip_value(),
                  .stochastic = step.stochastic});
}

}  // namespace

const OptimizerRule adagrad = {.name = "Adagrad",
                               .other_names = {},
                               .parameters = parameters,
                               .states = states,
                               .update = update};

}  // namespace triax::rules
