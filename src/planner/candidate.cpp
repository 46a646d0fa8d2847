// SPDX-License-Identifier: Apache-2.0
#include "src/planner/candidate.hpp"

#include <fmt/format.h>

namespace triax {

std::string name_of(Recompute what) {
  return what == Recompute::none ? "none" : what == Recompute::attention ? "attention" : "layer";
}

std::string name_of(Offload what) {
  return what == Offload::none        ? "none"
         : what == Offload::optimizer ? "optimizer"
                                      : "optimizer and parameters";
}

std::string Candidate::text() const {
  std::string text = fmt::format("tensor {} x pipeline {} x data {}", tensor, pipeline, data);
  if (pipeline > 1) text += fmt::format(", {}", schedule());
  if (chunks > 1) text += fmt::format(" of {} chunks", chunks);
  text += fmt::format(", micro {} x {}, ZeRO-{}", micro, accumulation, zero);
  if (recompute != Recompute::none) text += fmt::format(", recompute {}", name_of(recompute));
  if (offload != Offload::none) text += fmt::format(", offload {}", name_of(offload));
  return text;
}

std::vector<KeyValue> keys_of(const Candidate& candidate, std::int64_t global) {
  const auto number = [](auto value) { return fmt::format("{}", value); };
  std::vector<KeyValue> keys = {
      {"parallel.tensor", number(candidate.tensor)},
      {"parallel.pipeline", number(candidate.pipeline)},
      {"parallel.data", number(candidate.data)},
      {"parallel.schedule", fmt::format("\"{}\"", candidate.schedule())},
      {"parallel.chunks", number(candidate.chunks)},
      {"parallel.stage_layers", "null"},
      {"train_batch_size", number(global)},
      {"train_micro_batch_size_per_gpu", number(candidate.micro)},
      {"gradient_accumulation_steps", number(candidate.accumulation)},
      {"zero_optimization.stage", number(candidate.zero)},
      {"activation_checkpointing.number_checkpoints", "null"},
      {"activation_checkpointing.granularity",
       candidate.recompute == Recompute::attention ? "\"selective\"" : "\"full\""},
      {"pipeline.activation_checkpoint_interval",
       candidate.recompute == Recompute::layer ? "1" : "0"}};
  const bool parameters = candidate.offload == Offload::parameters;
  keys.push_back({"zero_optimization.offload_optimizer.device",
                  candidate.offload == Offload::none ? "\"none\"" : "\"cpu\""});
  keys.push_back({"zero_optimization.offload_param.device", parameters ? "\"cpu\"" : "\"none\""});
  return keys;
}

std::vector<std::string> overrides_of(const Candidate& candidate, std::int64_t global) {
  std::vector<std::string> overrides;
  for (const KeyValue& key : keys_of(candidate, global))
    overrides.push_back(key.key + "=" + key.value);
  return overrides;
}

}  // namespace triax
