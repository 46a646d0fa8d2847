// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax tokenizer: inspect, encode, decode, chat.
#include "src/commands/options/context.hpp"

namespace triax {

void add_tokenizer(CLI::App& app, CommandContext& context);

}  // namespace triax
