// SPDX-License-Identifier: Apache-2.0
#include "src/text/model/byte_ranks.hpp"

#include "src/text/model/bpe.hpp"

namespace triax {
namespace {

struct Pair {
  std::int32_t left, right, both;
};

// Every way to cut a token into two tokens.
std::vector<Pair> pairs_of(const Vocabulary& vocabulary, const ByteRanks& ranks) {
  std::vector<Pair> pairs;
  for (const auto& [text, rank] : ranks.tokens)
    for (std::size_t n = 1; n < text.size(); ++n) {
      const std::string_view whole = text;
      const std::int32_t left = vocabulary.find(whole.substr(0, n));
      if (left < 0) continue;
      const std::int32_t right = vocabulary.find(whole.substr(n));
      if (right >= 0) pairs.push_back({left, right, ranks.first_id + rank});
    }
  return pairs;
}

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::unique_ptr<const Model> make_rank_bpe(const ByteRanks& ranks) {
  BpeParts parts;
  parts.byte_level = true;
  parts.ignore_merges = true;
  parts.vocabulary.reserve(ranks.tokens.size());
  for (const auto& [text, rank] : ranks.tokens) parts.vocabulary.add(text, ranks.first_id + rank);
  const std::vector<Pair> pairs = pairs_of(parts.vocabulary, ranks);
  parts.merges = PairTable(pairs.size());
  for (const Pair& pair : pairs)
    parts.merges.add(pair.left, pair.right, {static_cast<std::uint32_t>(pair.both), pair.both});
  return make_bpe(std::move(parts));
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t held = 0;
  int bits = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    const int value = value_of(c);
    if (value < 0) return {};
    held = held << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<char>(held >> bits));
  }
  return bytes;
}

}  // namespace triax
