// SPDX-License-Identifier: Apache-2.0
#pragma once
// `model` of a tokenizer.json.
#include <memory>

#include "src/text/files/json_part.hpp"
#include "src/text/files/tokenizer_document.hpp"
#include "src/text/model/model.hpp"

namespace triax {

std::unique_ptr<const Model> json_model(JsonPart& root, const TokenizerDocument& document,
                                        bool byte_level);

}  // namespace triax
