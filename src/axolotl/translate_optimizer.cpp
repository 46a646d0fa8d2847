// SPDX-License-Identifier: Apache-2.0
// Optimizer, clipping and element types.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "src/axolotl/parts.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

// An optimizer of Axolotl's and transformers', and its name in triax.
struct Optimizer {
  const char* name;
  const char* type;
};
constexpr std::array<Optimizer, 19> optimizers = {{
    {"adamw_torch_fused", "AdamW"},
    {"adamw_torch", "AdamW"},
    {"adamw_hf", "AdamW"},
    {"adamw_apex_fused", "AdamW"},
    {"paged_adamw", "AdamW"},
    {"paged_adamw_32bit", "AdamW"},
    {"optimi_adamw", "AdamW"},
    {"flash_adamw", "AdamW"},
    {"adamw_bnb_8bit", "AdamW8bit"},
    {"adamw_8bit", "AdamW8bit"},
    {"paged_adamw_8bit", "AdamW8bit"},
    {"lion_32bit", "Lion"},
    {"lion", "Lion"},
    {"paged_lion_32bit", "Lion"},
    {"flash_lion", "Lion"},
    {"sgd", "SGD"},
    {"flash_sgd", "SGD"},
    {"adagrad", "Adagrad"},
    {"muon", "Muon"},
}};

bool has_betas(const std::string& type) {
  return type != "SGD" && type != "Adagrad";
}

void translate_rule(AxolotlJob& job) {
  const std::string name = job.text("optimizer").value_or("adamw_torch_fused");
  const auto* const found = std::ranges::find(
      optimizers, name, [](const Optimizer& optimizer) { return std::string(optimizer.name); });
  if (found == optimizers.end()) {
    std::vector<std::string> names;
    for (const Optimizer& optimizer : optimizers) names.emplace_back(optimizer.name);
    return job.refuse("optimizer", fmt::format("\"{}\" is not built. Use one of {}", name,
                                               fmt::join(names, ", ")));
  }
  const std::string type = found->type;
  if (job.has("optimizer"))
    job.set("optimizer.type", type, "optimizer");
  else
    job.set_default("optimizer.type", type, "Axolotl's default: adamw_torch_fused");
  if (!has_betas(type)) return;
  const auto beta1 = job.number("adam_beta1"), beta2 = job.number("adam_beta2");
  const double usual = type == "Lion" ? 0.99 : 0.999;
  if (beta1 || beta2)
    job.set("optimizer.params.betas", {beta1.value_or(0.9), beta2.value_or(usual)},
            beta1 ? "adam_beta1" : "adam_beta2");
  if (type == "Lion") return;
  if (const auto epsilon = job.number("adam_epsilon"))
    job.set("optimizer.params.eps", *epsilon, "adam_epsilon");
}

void translate_rate(AxolotlJob& job) {
  const auto rate = job.number("learning_rate");
  if (!rate) {
    if (!job.has("learning_rate"))
      job.refuse("learning_rate", "missing. Set it: Axolotl has no default");
    return;
  }
  job.set("optimizer.params.lr", *rate, "learning_rate");
  const auto ratio = job.number("loraplus_lr_ratio");
  if (!ratio || *ratio == 0.0) return;
  const auto group = ordered_json{{"match", "*.lora_B.weight"}, {"lr", *rate * *ratio}};
  job.set("optimizer.groups", ordered_json::array({group}), "loraplus_lr_ratio");
}

// bf16 is on where neither type is set; "auto" asks the GPU, and all that triax runs on have it.
void translate_types(AxolotlJob& job) {
  const bool half = job.is_on("fp16") || job.is_on("float16");
  const std::string key = job.has("bf16") ? "bf16" : "bfloat16";
  const ordered_json* const bf16 = job.find(key);
  if (bf16 != nullptr && !bf16->is_boolean() && *bf16 != "auto" && *bf16 != "full")
    return job.refuse(key, "expected true, false, auto or full");
  if (half && bf16 != nullptr && *bf16 == true)
    return job.refuse("fp16", "bf16 is on, too. Leave one of them out");
  if (half)
    job.set("fp16.enabled", true, job.is_on("fp16") ? "fp16" : "float16");
  else if (bf16 == nullptr && !job.is_on("float32"))
    job.set_default("bf16.enabled", true, "Axolotl's default: auto");
  else
    job.set("bf16.enabled", bf16 != nullptr && *bf16 != false, key);
  if (job.is_on("fp8")) job.set("fp8.enabled", true, "fp8");
}

}  // namespace

void translate_optimizer(AxolotlJob& job) {
  translate_rule(job);
  translate_rate(job);
  if (const auto decay = job.number("weight_decay"))
    job.set("optimizer.params.weight_decay", *decay, "weight_decay");
  else
    job.set_default("optimizer.params.weight_decay", 0, "Axolotl's default");
  if (const auto norm = job.number("max_grad_norm"))
    job.set("gradient_clipping", *norm, "max_grad_norm");
  else
    job.set_default("gradient_clipping", 1.0, "transformers' default");
  translate_types(job);
}

}  // namespace triax
