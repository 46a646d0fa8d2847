// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hugging Face's tokenizer.json (format of tokenizers 0.23,
// https://huggingface.co/docs/tokenizers).
#include <string>
#include <string_view>

#include "src/text/pipeline.hpp"

namespace triax {

/// Parts of a tokenizer.json; `place` names the file. `truncation` and `padding` are state of a
/// program that wrote it, and are ignored. UsageError for a part that is not known, by its name.
PipelineParts parse_tokenizer_json(std::string_view text, const std::string& place);

}  // namespace triax
