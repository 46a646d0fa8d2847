// SPDX-License-Identifier: Apache-2.0
#pragma once
// BPE whose tokens have ranks and no list of merges (tiktoken): a pair merges if its bytes are a
// token, the lowest rank first.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/text/model/model.hpp"

namespace triax {

/// Bytes of tokens by rank; the id of a token is `first_id` + rank.
struct ByteRanks {
  std::vector<std::pair<std::string, std::int32_t>> tokens;
  std::int32_t first_id = 0;
};

/// A piece that is a token is that token, as in tiktoken.
std::unique_ptr<const Model> make_rank_bpe(const ByteRanks& ranks);

/// Bytes of base64; nothing where it is none.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace triax
