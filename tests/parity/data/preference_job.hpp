// SPDX-License-Identifier: Apache-2.0
#pragma once
// Jobs with the preference data of tests/golden/preference, and what they must give.
#include <fstream>

#include "tests/support/training.hpp"

namespace triax::test {

inline const std::string preference_folder =
    std::string(TRIAX_SOURCE_DIR) + "/tests/golden/preference/";
inline constexpr int preference_steps = 5, preference_pairs = 4;  // pairs of a step

/// {"loss": keys of the section, "steps": loss, grad_norm, lr and rewards of each} of a curve.
inline nlohmann::json preference_curve(const std::string& name) {
  return nlohmann::json::parse(std::ifstream(preference_folder + "curves.json")).at(name);
}

/// Job of a curve; one whose name ends in "-lora" trains the adapter. `run`: its directory.
inline nlohmann::json preference_job(const std::string& name, const Layout& layout,
                                     const std::string& run) {
  GoldenCase golden = read_golden("llama-lora");
  if (!name.ends_with("-lora")) golden.adapter.clear();
  golden.tokens = preference_folder + "pairs.h5";
  golden.global_batch = preference_pairs;
  golden.steps = preference_steps;
  golden.warmup = 1;
  auto job = golden_job(golden, layout);
  job["loss"] = preference_curve(name).at("loss");
  job["data"]["format"] = "preference";
  job["run"]["directory"] = run;
  return job;
}

}  // namespace triax::test
