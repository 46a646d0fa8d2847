// SPDX-License-Identifier: Apache-2.0
#include "src/config/model/rope_scaling.hpp"

#include <fmt/format.h>

namespace triax {
namespace {

const std::string section = "model.rope_scaling.";

// original_max_position_embeddings as Hugging Face 5 defaults it: max_position_embeddings.
void take_original_context(Settings& s) {
  const std::string original = section + "original_max_position_embeddings";
  const std::string longest = "model.max_position_embeddings";
  if (!s.sound({original, longest})) return;
  if (!s.has(original)) {
    s.resolve(original, s.at(longest).value, "default");
    s.warn(original,
           fmt::format("missing: set to model.max_position_embeddings {}, as Hugging Face does",
                       s.integer(longest)));
  } else if (s.integer(original) > s.integer(longest)) {
    s.warn(
        original,
        fmt::format(
            "{} is more than model.max_position_embeddings {}, the context that it is stretched to",
            s.integer(original), s.integer(longest)));
  }
}

}  // namespace

RopeScaling read_rope_scaling(Settings& s, ErrorList& errors) {
  const auto type = s.string(section + "rope_type");
  const bool llama3 = type == "llama3";
  RopeScaling scaling;
  if (type == "linear") scaling.type = RopeType::linear;
  if (llama3) scaling.type = RopeType::llama3;
  if (llama3) take_original_context(s);
  const auto take = [&](const char* name, bool used, auto& to) {
    const auto path = section + name;
    if (!used) {
      if (s.has(path)) s.warn(path, "has no effect with the rope_type \"" + type + "\"");
    } else if (s.has(path)) {
      to = static_cast<std::remove_reference_t<decltype(to)>>(s.number(path));
    } else if (s.sound({path})) {
      s.error(errors, path, "missing. The rope_type \"" + type + "\" needs it");
    }
  };
  take("factor", scaling.type != RopeType::unscaled, scaling.factor);
  take("low_freq_factor", llama3, scaling.low_freq_factor);
  take("high_freq_factor", llama3, scaling.high_freq_factor);
  take("original_max_position_embeddings", llama3, scaling.original_positions);
  const std::string high = section + "high_freq_factor";
  if (llama3 && s.has(high) && scaling.high_freq_factor <= scaling.low_freq_factor)
    s.error(errors, high,
            fmt::format("{} is not above low_freq_factor {}", scaling.high_freq_factor,
                        scaling.low_freq_factor));
  return scaling;
}

}  // namespace triax
