// SPDX-License-Identifier: Apache-2.0
// Muon (Jordan et al. 2024), as torch.optim.Muon, for the matrices of blocks; AdamW for all other
// tensors. Names of parameters are PyTorch's; muon_lr, adam_lr and betas DeepSpeed's, adamw_eps
// Moonlight's.
#include "kernels/optimizer/orthogonal/muon.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/optimizer/adamw.hpp"
#include "src/state/optimizer/rules/parameter.hpp"
#include "src/state/optimizer/rules/rows.hpp"

namespace triax::rules {
namespace {
using enum KeyType;

constexpr const char *of_matrices = "muon_lr", *of_others = "adam_lr";
constexpr double match_rms_adamw = 1.0;  // place of the word in adjust_lr_fn

RuleParameter own_rate(const char* name, const char* tensors) {
  return {optimizer_key(name, number, nullptr, at_least(0),
                        std::string("learning rate of ") + tensors +
                            ", which follows the schedule in proportion to lr; unset: lr")};
}

std::vector<RuleParameter> parameters() {
  return with_common(
      1e-3,
      {{optimizer_key("momentum", number, 0.95, from_below(0, 1), "decay of the mean gradient")},
       {optimizer_key("nesterov", boolean, true, anything(),
                      "look ahead by the mean gradient (Nesterov's momentum)")},
       {optimizer_key("ns_coefficients", numbers, nlohmann::json::array({3.4445, -4.775, 2.0315}),
                      anything(),
                      "coefficients of the Newton-Schulz polynomial of degrees 1, 3, 5")},
       {optimizer_key("ns_steps", integer, 5, from_to(1, 99), "Newton-Schulz iterations")},
       {optimizer_key("eps", number, 1e-7, above(0), "smallest norm that a matrix is divided by")
            .or_auto(),
        1e-7},
       {optimizer_key("adjust_lr_fn", string, "original", one_of({"original", "match_rms_adamw"}),
                      "factor of the learning rate of an A x B matrix: sqrt(max(1, A / B)), or "
                      "0.2 sqrt(max(A, B)), with which AdamW's rates and decays fit")},
       own_rate(of_matrices, "matrices of blocks"),
       own_rate(of_others, "all other tensors, which AdamW steps"),
       betas_parameter(0.9, 0.999, "AdamW's decay of the first and second moments"),
       {optimizer_key("adamw_eps", number, 1e-8, above(0),
                      "added to the root of AdamW's second moment")}},
      decoupled_decay);
}

std::vector<StateKind> states(const OptimizerConfig& /*config*/) {
  using enum StateScope;
  return {{.name = "momentum_buffer", .scope = matrices},
          {.name = "exp_avg", .scale = "exp_avg_sq", .scope = others},
          {.name = "exp_avg_sq", .scope = others}};
}

double rate(const UpdateStep& step, const char* own) {
  const auto found = step.config.numbers.find(own);
  if (found == step.config.numbers.end()) return step.learning_rate;
  return step.learning_rate * (found->second / step.config.learning_rate);
}

MuonOptions options(const UpdateStep& step) {
  return {.learning_rate = rate(step, of_matrices),
          .momentum = step.number("momentum"),
          .nesterov = step.flag("nesterov"),
          .weight_decay = step.weight_decay,
          .clip_value = step.clip_value(),
          .stochastic = step.stochastic};
}

void momentum(const Stream& stream, const Tensor& direction, const UpdateTensors& tensors,
              const UpdateStep& step) {
  muon_momentum(stream, direction, tensors.gradient, tensors.factor, tensors.states[0],
                options(step));
}

NewtonSchulz iteration(const OptimizerConfig& config) {
  const auto& n = config.numbers;
  return {.a = n.at("ns_coefficients.0"),
          .b = n.at("ns_coefficients.1"),
          .c = n.at("ns_coefficients.2"),
          .steps = static_cast<int>(n.at("ns_steps")),
          .epsilon = n.at("eps")};
}

double factor(const OptimizerConfig& config, std::int64_t rows, std::int64_t columns) {
  const auto a = static_cast<double>(rows), b = static_cast<double>(columns);
  if (config.numbers.at("adjust_lr_fn") == match_rms_adamw) return 0.2 * std::sqrt(std::max(a, b));
  return std::sqrt(std::max(1.0, a / b));
}

void update_matrices(const Stream& stream, const Tensor& direction, const UpdateTensors& tensors,
                     const UpdateStep& step) {
  muon_step(stream, tensors.parameter, tensors.weights, direction, tensors.factor, options(step));
}

void update_others(const Stream& stream, const UpdateTensors& tensors, const UpdateStep& step) {
  const auto& [parameter, weights, gradient, factor, states] = tensors;
  triax::adamw(stream, parameter, weights, gradient, factor, states[1], states[2],
               {.learning_rate = rate(step, of_others),
                .beta1 = step.beta1,
                .beta2 = step.beta2,
                .epsilon = step.number("adamw_eps"),
                .weight_decay = step.weight_decay,
                .clip_value = step.clip_value(),
                .step = step.updates[1],
                .stochastic = step.stochastic});
}

void check_rates(Settings& s, ErrorList& errors) {
  const std::string lr = optimizer_path("lr");
  if (!s.sound({lr}) || s.number(lr) > 0.0) return;
  for (const char* own : {of_matrices, of_others})
    if (s.has(optimizer_path(own)))
      s.error(errors, optimizer_path(own),
              "it is in proportion to optimizer.params.lr, which is 0. Raise that, or leave this "
              "out");
}

const MatrixRule matrix_rule = {
    .momentum = momentum, .iteration = iteration, .factor = factor, .update = update_matrices};

}  // namespace

const OptimizerRule muon = {.name = "Muon",
                            .other_names = {},
                            .parameters = parameters,
                            .states = states,
                            .update = update_others,
                            .check = check_rates,
                            .matrices = &matrix_rule};

}  // namespace triax::rules
