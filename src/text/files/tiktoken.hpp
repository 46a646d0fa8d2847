// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rank files of tiktoken: lines "base64(bytes) rank". Pattern and special tokens are not in them: a
// table has those of the published files, known by their SHA-256.
#include <string>
#include <string_view>

#include "src/text/pipeline.hpp"

namespace triax {

/// Whether a file looks like one.
bool is_tiktoken(std::string_view text);
/// UsageError where the file is not in the table, or not whole.
PipelineParts parse_tiktoken(std::string_view text, const std::string& place);

}  // namespace triax
