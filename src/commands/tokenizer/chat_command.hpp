// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax tokenizer chat: a conversation through a model's chat template.
#include "src/commands/options/context.hpp"

namespace triax {

/// Adds the subcommand to `triax tokenizer`.
void add_tokenizer_chat(CLI::App& command);

}  // namespace triax
