// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters, and the base that they are trained on.
#include <fmt/format.h>

#include <array>

#include "src/axolotl/parts.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

// Keys of Axolotl and of PEFT with the same values.
struct Pair {
  const char* name;
  const char* key;
};
constexpr std::array<Pair, 12> pairs = {{
    {"lora_r", "lora.r"},
    {"lora_alpha", "lora.lora_alpha"},
    {"lora_dropout", "lora.lora_dropout"},
    {"lora_modules_to_save", "lora.modules_to_save"},
    {"lora_rank_pattern", "lora.rank_pattern"},
    {"lora_alpha_pattern", "lora.alpha_pattern"},
    {"peft_use_rslora", "lora.use_rslora"},
    {"peft_use_dora", "lora.use_dora"},
    {"peft_layers_to_transform", "lora.layers_to_transform"},
    {"peft_layers_pattern", "lora.layers_pattern"},
    {"peft_init_lora_weights", "lora.init_lora_weights"},
    {"lora_model_dir", "lora.adapter"},
}};

void translate_lora(AxolotlJob& job) {
  for (const Pair& pair : pairs)
    if (const ordered_json* const value = job.find(pair.name); value != nullptr && *value != "")
      job.set(pair.key, *value, pair.name);
  if (job.has("lora_model_dir")) return;  // it says the modules
  if (!job.has("lora_r") || !job.has("lora_alpha"))
    job.refuse(job.has("lora_r") ? "lora_alpha" : "lora_r", "missing. Set it: adapter needs it");
  if (job.is_on("lora_target_linear"))
    job.set("lora.target_modules", "all-linear", "lora_target_linear");
  else if (const ordered_json* const modules = job.find("lora_target_modules"))
    job.set("lora.target_modules", *modules, "lora_target_modules");
}

// Settings of an adapter that the file does not ask for.
void pass_over_lora(AxolotlJob& job) {
  for (const Pair& pair : pairs)
    if (job.is_on(pair.name) && *job.find(pair.name) != "")
      job.pass_over(pair.name, "there is no adapter");
  for (const char* name : {"lora_target_modules", "lora_target_linear"})
    if (job.is_on(name)) job.pass_over(name, "there is no adapter");
}

// NF4 is double-quantized unless bnb_config_kwargs says otherwise, as in Axolotl.
void translate_4bit(AxolotlJob& job) {
  if (!job.has("bnb_config_kwargs")) return job.set("model.quantize", "nf4-double", "load_in_4bit");
  const std::string type = "bnb_config_kwargs.bnb_4bit_quant_type";
  const std::string nested = "bnb_config_kwargs.bnb_4bit_use_double_quant";
  if (const auto named = job.text(type); named && *named != "nf4")
    return job.refuse(type, fmt::format("\"{}\" is not built. Set it to nf4", *named));
  if (const auto asked = job.boolean(nested))
    return job.set("model.quantize", *asked ? "nf4-double" : "nf4", nested);
  job.set("model.quantize", "nf4-double", "load_in_4bit");
}

void translate_quantized(AxolotlJob& job, const std::string& adapter) {
  const bool four = job.is_on("load_in_4bit"), eight = job.is_on("load_in_8bit");
  if (adapter == "qlora" && !four)
    return job.refuse("adapter",
                      "qlora trains on a base in 4 bits. Set load_in_4bit: true, or lora");
  if (four && eight)
    return job.refuse("load_in_8bit", "load_in_4bit is on, too. Leave one of them out");
  if (!four && !eight) return;
  const char* const key = four ? "load_in_4bit" : "load_in_8bit";
  if (adapter.empty())
    return job.refuse(key,
                      "adapters alone are trained on a quantized base. Set adapter, or leave "
                      "it out");
  if (four && adapter == "lora")
    return job.refuse(key, "a base in 4 bits is that of qlora. Set adapter: qlora");
  if (four) return translate_4bit(job);
  job.set("model.quantize", "int8", key);
}

}  // namespace

void translate_adapter(AxolotlJob& job) {
  const std::string adapter = job.text("adapter").value_or("");
  translate_quantized(job, adapter);
  if (adapter == "lora" || adapter == "qlora") return translate_lora(job);
  if (!adapter.empty())
    return job.refuse("adapter", fmt::format("\"{}\" is not built. Use lora", adapter));
  pass_over_lora(job);
}

}  // namespace triax
