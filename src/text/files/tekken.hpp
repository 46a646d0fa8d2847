// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mistral's tekken.json: ranks, pattern and special tokens in one file.
#include <string>
#include <string_view>

#include "src/text/pipeline.hpp"

namespace triax {

PipelineParts parse_tekken(std::string_view text, const std::string& place);

}  // namespace triax
