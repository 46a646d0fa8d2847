// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the files of a tokenizer from disk.
#include <string>

#include "src/text/files/file_set.hpp"

namespace triax {

/// Prefix of a tokenizer's name: "gpt2:DIR" has GPT-2's pattern where the files of DIR name none.
inline constexpr const char* gpt2_prefix = "gpt2:";

/// All files of a tokenizer, and generation_config.json and chat templates, in a directory (also a
/// model's folder of the hub's cache); or one file with those that belong to it. A directory
/// without a tokenizer gives the other files alone. Error for a link to nothing, and for a pointer
/// file of git-lfs.
TokenizerFiles read_tokenizer_files(const std::string& path);

/// The file that defines the tokenizer of a directory with these files; empty: none does.
std::string defining_file(const TokenizerFiles& files);

/// Whether a file of this name belongs to a tokenizer or to text generation.
bool is_tokenizer_file(const std::string& name);

}  // namespace triax
