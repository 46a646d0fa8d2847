// SPDX-License-Identifier: Apache-2.0
#include "src/commands/options/weights_option.hpp"

#include <CLI/CLI.hpp>

namespace triax {

void add_weights(CLI::App* command, std::string& value) {
  command
      ->add_option("--weights", value,
                   "Weights of a checkpoint: trained, or average, their running average (run.ema)")
      ->type_name("WHICH")
      ->check(CLI::IsMember({"trained", "average"}))
      ->capture_default_str();
}

SavedWeights saved_weights(const std::string& value) {
  return value == "average" ? SavedWeights::average : SavedWeights::trained;
}

}  // namespace triax
