// SPDX-License-Identifier: Apache-2.0
// SGD, as torch.optim.SGD. Without momentum it keeps no state.
#include "kernels/optimizer/sgd.hpp"

#include "src/state/optimizer/rules/parameter.hpp"
#include "src/state/optimizer/rules/rows.hpp"

namespace triax::rules {
namespace {
using enum KeyType;

std::vector<RuleParameter> parameters() {
  return with_common(1e-3,
                     {{optimizer_key("momentum", number, 0.0, at_least(0),
                                     "decay of the velocity; 0: none is kept")},
                      {optimizer_key("dampening", number, 0.0, from_to(0, 1),
                                     "the gradient enters the velocity times 1 - dampening")},
                      {optimizer_key("nesterov", boolean, false, anything(),
                                     "look ahead by the velocity (Nesterov's momentum)")}},
                     decay_in_gradient);
}

std::vector<StateKind> states(const OptimizerConfig& config) {
  if (config.numbers.at("momentum") == 0.0) return {};
  return {{.name = "momentum_buffer"}};
}

void update(const Stream& stream, const UpdateTensors& tensors, const UpdateStep& step) {
  triax::sgd(stream, tensors.parameter, tensors.weights, tensors.gradient, tensors.factor,
             tensors.states[0],
             {.learning_rate = step.learning_rate,
              .momentum = step.number("momentum"),
              .dampening = step.number("dampening"),
              .nesterov = step.flag("nesterov"),
              .weight_decay = step.weight_decay,
              .clip_value = step.clip_value(),
              .first = step.updates[0] == 1,
              .stochastic = step.stochastic});
}

void check_nesterov(Settings& s, ErrorList& errors) {
  const std::string nesterov = optimizer_path("nesterov"), momentum = optimizer_path("momentum");
  const std::string dampening = optimizer_path("dampening");
  if (!s.sound({nesterov, momentum, dampening}) || !s.boolean(nesterov)) return;
  if (s.number(momentum) > 0.0 && s.number(dampening) == 0.0) return;
  s.error(errors, nesterov,
          "Nesterov's momentum needs a momentum above 0 and a dampening of 0. Set both, or leave "
          "this out");
}

}  // namespace

const OptimizerRule sgd = {.name = "SGD",
                           .other_names = {},
                           .parameters = parameters,
                           .states = states,
                           .update = update,
                           .check = check_nesterov};

}  // namespace triax::rules
