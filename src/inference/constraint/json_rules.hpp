// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON (RFC 8259) as rules of a grammar.
#include <optional>

#include "src/inference/constraint/characters.hpp"

namespace triax {

/// Rules for one grammar, made when they are first needed. White space is bounded, so that no text
/// runs on in it: a blank, or a new line with at most 20 blanks, and none before commas and colons.
/// Numbers have at most 16 digits before and 16 behind the point, and 2 in the exponent.
class JsonRules {
 public:
  using Node = Grammar::Node;

  explicit JsonRules(Grammar& grammar) : grammar_(grammar) {}

  Node value(Node next) { return grammar_.call(value_rule(), next); }
  Node object(Node next) { return grammar_.call(object_rule(), next); }
  Node array(Node next) { return grammar_.call(array_rule(), next); }
  Node string(Node next);
  Node integer(Node next);
  Node number(Node next);
  Node boolean(Node next);
  Node null(Node next) { return grammar_.text("null", next); }

  /// White space behind a bracket or a comma, or before a closing bracket.
  Node space(Node next);
  /// ":" and the white space behind it.
  Node colon(Node next);
  /// One character of a string, as it is or escaped.
  Node character(Node next);
  /// One character of a set, as a string spells it.
  static Node spelled(const CharacterSet& set, Grammar& grammar, Node next);

 private:
  using Rule = std::optional<Grammar::Rule>;
  Grammar::Rule value_rule();
  Grammar::Rule object_rule();
  Grammar::Rule array_rule();
  Node hexadecimal(int digits, Node next);
  Node digits(std::int64_t least, std::int64_t most, Node next);

  Grammar& grammar_;
  Rule value_, object_, array_, space_, character_, string_, integer_, number_;
};

}  // namespace triax
