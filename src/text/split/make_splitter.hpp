// SPDX-License-Identifier: Apache-2.0
#pragma once
// Splitters of patterns and of texts.
#include <memory>
#include <string>

#include "src/text/split/splitter.hpp"

namespace triax {

/// Splitter of a pattern in Oniguruma's syntax with Ruby's options, as Hugging Face tokenizers
/// compiles it, or in Rust's (tiktoken). Patterns of known families run as scanners of their own,
/// others in PCRE2. UsageError where PCRE2 has no such pattern or is known to read it differently;
/// `where` names its place in the file.
std::shared_ptr<const Splitter> make_splitter(const std::string& pattern, const std::string& where);

/// Splitter that matches each occurrence of a text.
std::shared_ptr<const Splitter> literal_splitter(const std::string& literal);

}  // namespace triax
