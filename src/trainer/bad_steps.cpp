// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/bad_steps.hpp"

#include <cmath>

namespace triax {

void BadSteps::count(const StepMetrics& metrics, const LossScaler& scaler) {
  const bool bad = metrics.skipped && (!scaler.dynamic() || !std::isfinite(metrics.loss));
  in_a_row_ = bad ? in_a_row_ + 1 : 0;
  finite_losses_ = bad ? finite_losses_ + (std::isfinite(metrics.loss) ? 1 : 0) : 0;
  if (!bad) before_ = scaler;
}

namespace {

constexpr const char* remedy =
    "Lower the learning rate, set gradient_clipping, or resume an earlier checkpoint; "
    "run.max_bad_steps is the number of such steps in a row that are skipped";

}  // namespace

Error BadSteps::error(std::int64_t steps_done, const std::string& checkpoint) const {
  const bool fixed = before_.enabled() && !before_.dynamic();
  const std::string reason =
      fixed ? fmt::format("the fixed loss scale, {}, is too large, or the run diverged",
                          before_.scale())
            : "the run diverged";
  const std::string which = in_a_row_ == 1 ? fmt::format("step {}", steps_done)
                                           : fmt::format("{} steps in a row, from step {} on,",
                                                         in_a_row_, steps_done - in_a_row_ + 1);
  return Error(
      which + " had a loss or gradient that is not finite",
      reason + (checkpoint.empty() ? "" : "; " + checkpoint),
      fmt::format(
          "{}{}",
          fixed ? "Lower fp16.loss_scale, or set it to 0 (dynamic), or train in bf16. " : "",
          remedy));
}

std::string BadSteps::nothing_to_save(std::int64_t steps_done, bool first) const {
  if (in_a_row_ == 0)
    return fmt::format("the weights that step {} left are not finite", steps_done);
  const std::string which =
      in_a_row_ == 1 ? "the last step was" : fmt::format("the last {} steps were", in_a_row_);
  if (first) return which + " not finite, and this run has made no other";
  return fmt::format("{} not finite, and neither are the weights that step {} left", which,
                     steps_done - in_a_row_);
}

Error BadSteps::error_of_weights(std::int64_t steps_done) {
  return Error(fmt::format("weights are not finite after the last step, {}", steps_done),
               "the run diverged; no checkpoint of them is written", remedy);
}

}  // namespace triax
