// SPDX-License-Identifier: Apache-2.0
// Recomputation, sharding and the grid of ranks.
#include <fmt/format.h>

#include <filesystem>

#include "src/axolotl/parts.hpp"
#include "src/config/source/find_input.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

constexpr const char* every_layer = "pipeline.activation_checkpoint_interval";

void translate_recomputation(AxolotlJob& job) {
  const std::string key = "gradient_checkpointing";
  const ordered_json* const value = job.find(key);
  if (value == nullptr || *value == false) return;
  if (*value == true) return job.set(every_layer, 1, key);
  if (*value == "offload") {
    job.set(every_layer, 1, key);
    return job.set("activation_checkpointing.cpu_checkpointing", true, key);
  }
  job.refuse(key, "expected true, false or offload; activations on disks are not built");
}

// A file of DeepSpeed's is the base of the job; a map is part of it.
void translate_deepspeed(AxolotlJob& job) {
  const std::string key = "deepspeed";
  const ordered_json* const value = job.find(key);
  if (value == nullptr || *value == "") return;
  if (value->is_object()) {
    for (const auto& [name, part] : value->items()) job.set(name, part, key);
    return;
  }
  const auto name = job.text(key);
  if (!name) return;
  const auto [found, problem] = find_input(*name, job.file());
  if (found.empty())
    return job.refuse(
        key, problem.empty() ? fmt::format("no such file: {} (\"axolotl fetch deepspeed_configs\" "
                                           "writes Axolotl's). Set it to a file, or leave it out",
                                           *name)
                             : problem);
  job.set("extends", std::filesystem::absolute(found).lexically_normal().string(), key);
}

// Keys of fsdp_config may have the prefix fsdp_.
std::string of_fsdp(const AxolotlJob& job, const std::string& name) {
  const std::string path = "fsdp_config." + name, prefixed = "fsdp_config.fsdp_" + name;
  return job.has(prefixed) ? prefixed : path;
}

void translate_fsdp(AxolotlJob& job) {
  const bool config = job.has("fsdp_config"), list = job.is_on("fsdp");
  const ordered_json* const strategies = job.find("fsdp");
  if (!config && (!list || strategies->empty())) return;
  const std::string from = config ? "fsdp_config" : "fsdp";
  const std::string strategy = of_fsdp(job, "sharding_strategy");
  const std::string reshard = of_fsdp(job, "reshard_after_forward");
  if (job.has(strategy)) {
    job.set("fsdp.sharding_strategy", *job.find(strategy), strategy);
  } else {
    const bool keeps = job.boolean(reshard).value_or(true);
    job.set("zero_optimization.stage", keeps ? 3 : 2, job.has(reshard) ? reshard : from);
  }
  const std::string gathers = of_fsdp(job, "limit_all_gathers");
  if (const auto limit = job.boolean(gathers)) job.set("fsdp.limit_all_gathers", *limit, gathers);
  const std::string offload = of_fsdp(job, "offload_params");
  if (job.boolean(offload).value_or(false))
    for (const char* part : {"offload_param", "offload_optimizer"})
      job.set(fmt::format("zero_optimization.{}.device", part), "cpu", offload);
  const std::string recompute = of_fsdp(job, "activation_checkpointing");
  if (job.boolean(recompute).value_or(false)) job.set(every_layer, 1, recompute);
}

}  // namespace

void translate_memory(AxolotlJob& job) {
  translate_deepspeed(job);  // first: keys of the Axolotl file win
  translate_recomputation(job);
  translate_fsdp(job);
  if (const auto tensor = job.number("tensor_parallel_size"); tensor && *tensor >= 1)
    job.set("parallel.tensor", static_cast<std::int64_t>(*tensor), "tensor_parallel_size");
}

}  // namespace triax
