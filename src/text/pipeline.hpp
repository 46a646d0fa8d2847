// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order of work of a tokenizer, that of Hugging Face tokenizers: added tokens are cut out of
// the raw text; each rest is normalized, added tokens of normalized text are cut out of it, and
// what is left is cut into pieces that the model encodes.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/text/added_tokens.hpp"
#include "src/text/decode/decoder.hpp"
#include "src/text/model/model.hpp"
#include "src/text/normalize/normalizer.hpp"
#include "src/text/split/pieces.hpp"
#include "src/text/tokenizer.hpp"

namespace triax {

struct PipelineParts {
  std::vector<AddedToken> added;
  std::vector<AddedToken> in_normalized;  // more of them, whose content is normalized already
  Normalizers normalizers;
  std::vector<std::unique_ptr<const PieceStep>> steps;
  std::unique_ptr<const Model> model;
  bool byte_level = false;                  // the vocabulary holds bytes
  std::vector<std::int32_t> before, after;  // added by add_special_tokens
  DecodeSteps decode_steps;                 // of a byte-level model: none but the bytes
  std::string end;                          // text of end_token(); empty: see end_id
  std::optional<std::int32_t> end_id;       // end_token() if `end` is empty
  std::string fingerprint;
};

std::shared_ptr<const Tokenizer> make_pipeline(PipelineParts parts);

}  // namespace triax
