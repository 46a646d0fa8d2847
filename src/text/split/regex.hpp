// SPDX-License-Identifier: Apache-2.0
#pragma once
// Splitter of any pattern, by PCRE2.
#include <memory>
#include <string>

#include "src/text/split/splitter.hpp"

namespace triax {

/// UsageError where PCRE2 does not compile the pattern or reads a part of it in another way than
/// Oniguruma and Rust do; `where` names its place in the file.
std::shared_ptr<const Splitter> regex_splitter(const std::string& pattern,
                                               const std::string& where);

}  // namespace triax
