// SPDX-License-Identifier: Apache-2.0
// Types of parameters, gradients and messages.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "src/config/resolve/resolve.hpp"

namespace triax {
namespace {

// communication_data_type in lower case; empty: not set.
std::string messages_type(const Settings& s) {
  const std::string key = "communication_data_type";
  std::string asked = s.has(key) ? s.string(key) : "";
  std::ranges::transform(asked, asked.begin(), [](unsigned char c) { return std::tolower(c); });
  return asked;
}

// Gradients are sent in the type they are kept in: there is no second copy in another type.
void check_communication_type(Settings& s, const std::string& kept, bool chosen,
                              ErrorList& errors) {
  const std::string key = "communication_data_type";
  const std::string asked = messages_type(s);
  if (asked.empty() || asked == kept) return;
  const std::string remedy = asked == "fp32" ? "Set data_types.grad_accum_dtype to \"fp32\""
                             : chosen        ? "Leave out this key or data_types.grad_accum_dtype"
                                             : "Leave it out";
  s.error(errors, key,
          fmt::format("\"{}\", but gradients are kept in {}, and ranks sum them in the type in "
                      "which they are kept. {}",
                      s.string(key), kept, remedy));
}

// Element type of the parameters.
std::string model_type(const Settings& s) {
  if (s.boolean("fp16.enabled")) return "fp16";
  return s.boolean("bf16.enabled") || s.boolean("bfloat16.enabled") ? "bf16" : "fp32";
}

}  // namespace

void resolve_precision(Settings& s, ErrorList& errors) {
  for (const std::string key : {"fp16.enabled", "bf16.enabled", "bfloat16.enabled"})
    if (s.is_auto(key)) s.resolve(key, false);
  // Either name counts; a job.json has both.
  const bool bf16 = s.boolean("bf16.enabled") || s.boolean("bfloat16.enabled");
  if (s.boolean("fp16.enabled") && bf16)
    s.error(errors, "fp16.enabled", "a model trains in one type: set fp16 or bf16, not both");
  const std::string model = model_type(s);
  if (s.boolean("fp8.enabled") && !bf16)
    s.error(errors, "fp8.enabled",
            fmt::format("the matrices that fp8 multiplies are kept in bf16, and this model is {}. "
                        "Enable bf16 {}",
                        model, model == "fp16" ? "instead of fp16" : "too"));
  const std::string rounding = "optimizer.params.stochastic_rounding";
  if (model == "fp32" && s.boolean(rounding))
    s.error(errors, rounding, "there are no 16-bit weights to round. Enable bf16 or fp16");
}

// Gradient type if unset, as in DeepSpeed's engine (get_data_types): float32 for a bf16 model at
// ZeRO-0, else the model's type. communication_data_type bf16 implies bf16 gradients.
void resolve_gradients(Settings& s, ErrorList& errors) {
  const std::string model = model_type(s);
  const std::string sums = "data_types.grad_accum_dtype", stage = "zero_optimization.stage";
  const bool chosen = s.has(sums);
  if (chosen && s.string(sums) != "fp32" && s.string(sums) != model)
    return s.error(errors, sums,
                   fmt::format("\"{0}\" needs a model of that type. Set it to fp32, or enable {0}",
                               s.string(sums)));
  if (!chosen) {
    const bool wide = model == "bf16" && s.integer(stage) == 0 && messages_type(s) != "bf16";
    s.resolve(sums, wide ? "fp32" : model, stage);
  }
  check_communication_type(s, s.string(sums), chosen, errors);
}

}  // namespace triax
