// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/characters.hpp"

#include <algorithm>
#include <array>

namespace triax {
namespace {

constexpr char32_t last = 0x10FFFF;
constexpr char32_t first_surrogate = 0xD800, last_surrogate = 0xDFFF;

// The last code points of one, two, three and four bytes.
constexpr std::array<char32_t, 4> last_of = {0x7F, 0x7FF, 0xFFFF, last};

std::size_t length_of(char32_t c) {
  return static_cast<std::size_t>(std::ranges::lower_bound(last_of, c) - last_of.begin()) + 1;
}

// Byte `index` of a code point of `length` bytes.
unsigned char byte_of(char32_t c, std::size_t length, std::size_t index) {
  constexpr std::array<unsigned, 4> leads = {0, 0xC0, 0xE0, 0xF0};
  const unsigned bits = c >> (6 * (length - 1 - index));
  return static_cast<unsigned char>(index == 0 ? leads[length - 1] | bits : 0x80U | (bits & 0x3FU));
}

// Nodes of the code points low to high: ranges of bytes in sequence, where each byte may take its
// range whatever the others are.
void add_nodes(char32_t low, char32_t high, Grammar& grammar, Grammar::Node next,
               std::vector<Grammar::Node>& nodes) {
  const std::size_t length = length_of(low);
  const auto split = [&](char32_t end) {
    add_nodes(low, end, grammar, next, nodes);
    add_nodes(end + 1, high, grammar, next, nodes);
  };
  if (length != length_of(high)) return split(last_of[length - 1]);
  for (std::size_t i = 1; i < length; ++i) {
    const char32_t mask = (char32_t{1} << (6 * i)) - 1;
    if ((low & ~mask) == (high & ~mask)) continue;
    if ((low & mask) != 0) return split(low | mask);
    if ((high & mask) != mask) return split((high & ~mask) - 1);
  }
  Grammar::Node node = next;
  for (std::size_t i = length; i-- > 0;)
    node = grammar.bytes(byte_of(low, length, i), byte_of(high, length, i), node);
  nodes.push_back(node);
}

}  // namespace

void CharacterSet::add(char32_t low, char32_t high) {
  if (low < first_surrogate && high > last_surrogate) {
    add(low, first_surrogate - 1);
    return add(last_surrogate + 1, high);
  }
  if (low >= first_surrogate && low <= last_surrogate) low = last_surrogate + 1;
  if (high >= first_surrogate && high <= last_surrogate) high = first_surrogate - 1;
  if (low > high) return;
  std::vector<Range> ranges;
  for (const Range& range : ranges_) {
    if (range.high + 1 < low || range.low > high + 1) {
      ranges.push_back(range);
    } else {
      low = std::min(low, range.low);
      high = std::max(high, range.high);
    }
  }
  ranges.push_back({low, high});
  std::ranges::sort(ranges, {}, &Range::low);
  ranges_ = std::move(ranges);
}

void CharacterSet::add(const CharacterSet& other) {
  for (const Range& range : other.ranges_) add(range.low, range.high);
}

CharacterSet CharacterSet::complement() const {
  CharacterSet others;
  char32_t from = 0;
  for (const Range& range : ranges_) {
    if (range.low > from) others.add(from, range.low - 1);
    from = range.high + 1;
  }
  if (from <= last) others.add(from, last);
  return others;
}

CharacterSet CharacterSet::without(const CharacterSet& other) const {
  CharacterSet others = complement();
  others.add(other);
  return others.complement();
}

bool CharacterSet::has(char32_t character) const {
  return std::ranges::any_of(ranges_, [&](const Range& range) {
    return range.low <= character && character <= range.high;
  });
}

std::optional<char32_t> CharacterSet::only() const {
  if (ranges_.size() != 1 || ranges_[0].low != ranges_[0].high) return {};
  return ranges_[0].low;
}

Grammar::Node CharacterSet::node(Grammar& grammar, Grammar::Node next) const {
  std::vector<Grammar::Node> nodes;
  for (const Range& range : ranges_) add_nodes(range.low, range.high, grammar, next, nodes);
  return grammar.any_of(nodes);
}

}  // namespace triax
