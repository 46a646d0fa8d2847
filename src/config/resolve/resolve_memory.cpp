// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "src/config/resolve/resolve.hpp"

namespace triax {
namespace {

const std::string zero = "zero_optimization.";

void replace_auto(Settings& s, const std::string& key, const nlohmann::json& value) {
  if (s.is_auto(zero + key)) s.resolve(zero + key, value);
}

// Accelerate's DeepSpeed plugin resolves these so when its own settings are unset.
void resolve_choices(Settings& s) {
  replace_auto(s, "stage", 2);
  replace_auto(s, "offload_optimizer.device", "none");
  replace_auto(s, "offload_param.device", "none");
  for (const char* name :
       {"stage3_gather_16bit_weights_on_model_save", "gather_16bit_weights_on_model_save",
        "stage3_gather_fp16_weights_on_model_save"})
    replace_auto(s, name, false);
  s.default_for_auto(zero + "offload_param.buffer_size");
}

// Hugging Face's Trainer resolves these so, from the model's width.
void resolve_sizes(Settings& s, const ModelConfig& m) {
  const auto width = static_cast<std::int64_t>(m.hidden);
  replace_auto(s, "overlap_comm", true);
  for (const char* name : {"reduce_bucket_size", "allgather_bucket_size"})
    replace_auto(s, name, std::max<std::int64_t>(1, width * width));
  for (const std::string prefix : {"", "stage3_"}) {
    replace_auto(s, prefix + "prefetch_bucket_size", width * width * 9 / 10);
    replace_auto(s, prefix + "param_persistence_threshold", 10 * width);
    replace_auto(s, prefix + "max_live_parameters", 1'000'000'000);
  }
}

// DeepSpeed's stage3_x outside its plugin section and x inside are one setting: a number under
// either name holds.
void unite_names(Settings& s, ErrorList& errors) {
  for (const char* name :
       {"prefetch_bucket_size", "param_persistence_threshold", "max_live_parameters"}) {
    const std::string outside = zero + "stage3_" + name, inside = zero + name;
    const auto says = [&](const std::string& key) {
      return s.given(key) && s.at(key).source != "auto";
    };
    if (!s.given(inside) || !s.sound({inside, outside})) continue;
    if (!says(outside))
      s.resolve(outside, s.at(inside).value, inside);
    else if (!says(inside))
      s.resolve(inside, s.at(outside).value, outside);
    else if (s.at(outside).value != s.at(inside).value)
      s.error(errors, inside,
              fmt::format("{}, but its alias {} is {}. Set only one of them",
                          s.at(inside).value.dump(), outside, s.at(outside).value.dump()));
  }
}

std::int64_t stage_of(const std::string& strategy) {
  if (strategy == "NO_SHARD") return 0;
  return strategy == "SHARD_GRAD_OP" ? 2 : 3;
}

// FSDP's names become ZeRO's settings. Where the job gives both, they must agree.
void resolve_fsdp(Settings& s, ErrorList& errors) {
  const std::string strategy = "fsdp.sharding_strategy";
  if (!s.has(strategy)) return;
  const std::int64_t stage = stage_of(s.string(strategy));
  if (const Setting& zeros = s.at(zero + "stage");
      zeros.given && !zeros.automatic && zeros.value != stage)
    s.error(errors, strategy,
            fmt::format("{} is ZeRO-{}, but {}stage is {}. Set only one of them",
                        s.string(strategy), stage, zero, s.integer(zero + "stage")));
  s.resolve(zero + "stage", stage, strategy);
  const auto unless_given = [&](const std::string& name, std::int64_t value,
                                const std::string& source) {
    if (!s.given(zero + "stage3_" + name) && !s.given(zero + name))
      s.resolve(zero + "stage3_" + name, value, source);
  };
  unless_given("param_persistence_threshold", 0, strategy);
  if (s.string("fsdp.backward_prefetch") != "BACKWARD_PRE")
    unless_given("prefetch_bucket_size", 0, "fsdp.backward_prefetch");
}

// "auto" is false where async does not pay: state offloaded to disk exceeds memory, so its copy
// would too, and without an interval hardly any step is left to overlap with the write.
void resolve_async(Settings& s, ErrorList& errors) {
  const std::string key = "checkpoint.async";
  const std::string together = "checkpoint.collective";
  if (!s.sound({key, together, "checkpoint.interval"})) return;
  if (!s.is_auto(together) && s.boolean(together)) {
    if (!s.is_auto(key) && s.boolean(key))
      s.error(errors, key,
              "true, but ranks that write together (checkpoint.collective) cannot train meanwhile. "
              "Leave one of them out");
    return s.resolve(key, false, together);
  }
  if (!s.is_auto(key)) return;
  if (s.number("checkpoint.interval") == 0.0) return s.resolve(key, false, "checkpoint.interval");
  for (const char* section : {"offload_optimizer.", "offload_param."})
    if (const std::string device = zero + section + "device"; s.string(device) == "nvme")
      return s.resolve(key, false, device);
}

// Ranks that each write their columns of a tensor write short ranges; a collective write joins
// them.
void resolve_collective(Settings& s) {
  const std::string key = "checkpoint.collective", tensor = "parallel.tensor";
  if (s.is_auto(key) && s.sound({tensor})) s.resolve(key, s.integer(tensor) > 1, tensor);
}

void check_shard_size(Settings& s, ErrorList& errors) {
  const std::string mics = zero + "mics_shard_size", hpz = zero + "zero_hpz_partition_size";
  if (s.is_auto("parallel.data") || !s.sound({"parallel.data", mics, hpz, zero + "stage"})) return;
  const std::int64_t data = s.integer("parallel.data");
  if (s.integer(mics) > 0 && s.integer(hpz) > 1 && s.integer(mics) != s.integer(hpz)) {
    s.error(errors, hpz,
            fmt::format("{}, but {} is {}, and all state is sharded over groups of one size. Set "
                        "only one of them",
                        s.integer(hpz), mics, s.integer(mics)));
    return;
  }
  for (const std::string& key : {mics, hpz}) {
    const std::int64_t size = s.integer(key);
    if (size == -1 || (key == hpz && size == 1)) continue;
    if (size == 0)
      s.error(errors, key, "0 ranks cannot hold the state. Set it to -1 for all ranks");
    else if (data % size != 0)
      s.error(errors, key,
              fmt::format("{} does not divide the {} data ranks. Set it to a divisor of {}", size,
                          data, data));
    else if (s.integer(zero + "stage") == 0)
      s.error(errors, key,
              "nothing is sharded at ZeRO-0. Set zero_optimization.stage to 1, 2 or 3");
  }
}

}  // namespace

void resolve_memory(Settings& s, const ModelConfig& m, ErrorList& errors) {
  resolve_choices(s);
  resolve_sizes(s, m);
  unite_names(s, errors);
  resolve_fsdp(s, errors);
  resolve_async(s, errors);
  resolve_collective(s);
  check_shard_size(s, errors);
}

}  // namespace triax
