// SPDX-License-Identifier: Apache-2.0
#pragma once
// Normalizer, pre-tokenizer, post-processor and decoder of a tokenizer.json.
#include <cstdint>
#include <memory>
#include <vector>

#include "src/text/decode/decoder.hpp"
#include "src/text/files/json_part.hpp"
#include "src/text/normalize/normalizer.hpp"
#include "src/text/split/pieces.hpp"

namespace triax {

Normalizers json_normalizers(JsonPart& root);

struct PreTokenizerParts {
  std::vector<std::unique_ptr<const PieceStep>> steps;
  bool byte_level = false;
};
PreTokenizerParts json_pre_tokenizer(JsonPart& root);

/// Ids put before and after a text.
void json_post_processor(JsonPart& root, std::vector<std::int32_t>& before,
                         std::vector<std::int32_t>& after);

/// No steps for a byte-level model with the decoder ByteLevel.
DecodeSteps json_decoder(JsonPart& root, bool byte_level);

/// Flattens "Sequence" parts of `key`, whose list is under `list`; null and absent: none.
template <class Visit>
void each_json_part(JsonPart& root, const std::string& key, const std::string& list,
                    Visit&& visit) {
  const auto walk = [&](auto& self, JsonPart& part) -> void {
    const std::string type = part.text("type");
    if (type != "Sequence") {
      visit(part, type);
    } else {
      for (JsonPart& inner : part.parts(list)) self(self, inner);
    }
    part.done();
  };
  root.ignore(key);
  if (!root.has(key)) return;
  JsonPart part = root.part(key);
  walk(walk, part);
}

}  // namespace triax
