// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax data ...: makes token files, and looks into them.
#include <memory>
#include <string>

#include "src/commands/options/context.hpp"
#include "src/text/tokenizer.hpp"

namespace triax {

/// Adds the command `data` with its subcommands.
void add_data(CLI::App& app, CommandContext& context);

/// The tokenizer of --tokenizer: "bytes", a directory or a file.
std::shared_ptr<const Tokenizer> named_tokenizer(const std::string& name);

/// The subcommands tokenize, train-tokenizer and show. Internal to src/commands/data.
void add_data_tokenize(CLI::App& data, const MpiSession& session);
void add_data_train_tokenizer(CLI::App& data, const MpiSession& session);
void add_data_show(CLI::App& data, const MpiSession& session);

}  // namespace triax
