// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments that several commands take.
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/tensor.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace triax {

/// Adds the argument MODEL, which must be given.
void add_model(CLI::App* command, std::string& model);

/// Adds --set KEY=VALUE, any number of times; the next word is another argument. `about`: its line
/// of --help, with the keys that the command takes.
CLI::Option* add_overrides(CLI::App* command, std::vector<std::string>& overrides,
                           const std::string& about);

/// Adds --speculate METHOD, another word for inference.speculate.
void add_speculate(CLI::App* command, std::vector<std::string>& overrides);

/// Adds --device; `device` is "auto" before.
void add_device(CLI::App* command, std::string& device);
/// The meaning of its value; nothing: on a GPU if there is one.
std::optional<MemorySpace> space_of(const std::string& device);

}  // namespace triax
