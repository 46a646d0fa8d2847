// SPDX-License-Identifier: Apache-2.0
// Adan (Xie et al. 2022). Defaults and names of states are those of the authors' code.
#include "kernels/optimizer/adan.hpp"

#include "src/state/optimizer/rules/parameter.hpp"
#include "src/state/optimizer/rules/rows.hpp"

namespace triax::rules {
namespace {
using enum KeyType;

std::vector<RuleParameter> parameters() {
  return with_common(
      1e-3,
      {betas_parameter(0.98, 0.92, "decay of the mean gradient and of its mean change"),
       {optimizer_key("beta3", number, 0.99, from_below(0, 1),
                      "decay of the second moment, the authors' betas[2]")},
       epsilon_parameter(1e-8, "added to the root of the second moment"),
       {optimizer_key("no_prox", boolean, false, anything(),
                      "AdamW's decoupled decay; false: the step is followed by a division by "
                      "1 + lr weight_decay")}},
      "decay of tensors of two or more dimensions, proximal unless no_prox");
}

std::vector<StateKind> states(const OptimizerConfig& /*config*/) {
  return {{.name = "exp_avg", .scale = "exp_avg_sq"},
          {.name = "exp_avg_diff", .scale = "exp_avg_sq"},
          {.name = "exp_avg_sq"},
          {.name = "neg_pre_grad"}};
}

void update(const Stream& stream, const UpdateTensors& tensors, const UpdateStep& step) {
  const auto& [parameter, weights, gradient, factor, states] = tensors;
  triax::adan(stream, parameter, weights, gradient, factor, states[0], states[1], states[2],
              states[3],
              {.learning_rate = step.learning_rate,
               .beta1 = step.beta1,
               .beta2 = step.beta2,
               .beta3 = step.number("beta3"),
               .epsilon = step.number("eps"),
               .weight_decay = step.weight_decay,
               .proximal = !step.flag("no_prox"),
               .clip_value = step.clip_value(),
               .steps1 = step.updates[0],
               .steps2 = step.updates[1],
               .steps3 = step.updates[2],
               .first = step.updates[3] == 1,
               .stochastic = step.stochastic});
}

}  // namespace

const OptimizerRule adan = {.name = "Adan",
                            .other_names = {},
                            .parameters = parameters,
                            .states = states,
                            .update = update};

}  // namespace triax::rules
