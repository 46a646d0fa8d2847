// SPDX-License-Identifier: Apache-2.0
#pragma once
// Byte-pair encoding, over bytes or over characters.
#include <memory>
#include <string>

#include "src/text/model/model.hpp"
#include "src/text/model/pair_table.hpp"

namespace triax {

struct BpeParts {
  Vocabulary vocabulary;
  PairTable merges;
  bool byte_level = false;     // symbols are bytes; else characters
  bool byte_fallback = false;  // an unknown character becomes its bytes, "<0xAB>"
  bool fuse_unk = false;       // neighbouring unknown characters are one
  bool ignore_merges = false;  // a piece that is a token is that token
  std::int32_t unk = -1;       // -1: unknown characters vanish
  // No merge makes a token that has U+2581 after another character: text is cut before it, which
  // changes no id and lets words be remembered.
  bool cut_before_blank = false;
};

/// "▁", the blank of SentencePiece.
inline constexpr std::string_view blank_mark = "\xE2\x96\x81";
/// Whether `token` has "▁" after another character.
bool has_blank_inside(std::string_view token);

std::unique_ptr<const Model> make_bpe(BpeParts parts);

}  // namespace triax
