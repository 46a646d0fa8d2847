// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/regex.hpp"

#include <vector>

#include "src/inference/constraint/regex_parser.hpp"

namespace triax {
namespace {

using Part = Regex::Part;
using Kind = Part::Kind;

Grammar::Node build(const Part& part, Grammar& grammar, Grammar::Node next,
                    const Regex::Spell& spell) {
  switch (part.kind) {
    case Kind::set:
      return spell(part.set, grammar, next);
    case Kind::sequence:
      for (auto at = part.parts.rbegin(); at != part.parts.rend(); ++at)
        next = build(*at, grammar, next, spell);
      return next;
    case Kind::either: {
      std::vector<Grammar::Node> nodes;
      for (const Part& one : part.parts) nodes.push_back(build(one, grammar, next, spell));
      return grammar.any_of(nodes);
    }
    case Kind::repeat:
      break;
  }
  return grammar.repeat(part.least, part.most, next, [&](Grammar::Node after) {
    return build(part.parts.front(), grammar, after, spell);
  });
}

}  // namespace

Regex::Regex(std::string_view text)
    : whole_(std::make_unique<Part>(parse_regex(text, from_begin_, to_end_))) {}
Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;

Grammar::Node Regex::node(Grammar& grammar, Grammar::Node next, bool search,
                          const Spell& spell) const {
  const auto any = [&](Grammar::Node after) {
    return grammar.repeat(0, -1, after, [&](Grammar::Node then) {
      return spell(CharacterSet::all(), grammar, then);
    });
  };
  if (search && !to_end_) next = any(next);
  next = build(*whole_, grammar, next, spell);
  return search && !from_begin_ ? any(next) : next;
}

}  // namespace triax
