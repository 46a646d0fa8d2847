// SPDX-License-Identifier: Apache-2.0
#include "src/commands/options/shared_options.hpp"

#include <CLI/CLI.hpp>

namespace triax {

void add_model(CLI::App* command, std::string& model) {
  command
      ->add_option("MODEL", model, "A checkpoint, or a directory with config.json and safetensors")
      ->type_name("")
      ->required();
}

CLI::Option* add_overrides(CLI::App* command, std::vector<std::string>& overrides,
                           const std::string& about) {
  return command->add_option("--set", overrides, about)
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->take_all();
}

void add_speculate(CLI::App* command, std::vector<std::string>& overrides) {
  command
      ->add_option_function<std::string>(
          "--speculate",
          [&overrides](const std::string& method) {
            overrides.push_back("inference.speculate=" + method);
          },
          "Guess tokens that a step checks together, as inference.speculate: ngram takes what "
          "followed the same tokens earlier in the text; the answers stay the same")
      ->type_name("METHOD")
      ->check(CLI::IsMember({"none", "ngram"}));
}

void add_device(CLI::App* command, std::string& device) {
  command->add_option("--device", device, "cpu, gpu, or auto: the GPU if there is one")
      ->type_name("DEVICE")
      ->check(CLI::IsMember({"auto", "cpu", "gpu"}))
      ->capture_default_str();
}

std::optional<MemorySpace> space_of(const std::string& device) {
  if (device == "auto") return {};
  return device == "gpu" ? MemorySpace::device : MemorySpace::host;
}

}  // namespace triax
