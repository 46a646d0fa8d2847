// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/json_rules.hpp"

#include <string_view>
#include <vector>

namespace triax {
namespace {

using Node = Grammar::Node;

constexpr int most_indent = 20, most_digits = 16;

Node one_of(std::string_view bytes, Grammar& grammar, Node next) {
  std::vector<Node> nodes;
  for (const char c : bytes) nodes.push_back(grammar.text({&c, 1}, next));
  return grammar.any_of(nodes);
}

template <class... Nodes>
Node any(Grammar& grammar, Nodes... nodes) {
  const Node all[] = {nodes...};
  return grammar.any_of(all);
}

// Characters that a string may hold as they are.
CharacterSet plain() {
  CharacterSet set(0, 0x1F);
  set.add('"', '"');
  set.add('\\', '\\');
  return set.complement();
}

// A rule that `build` makes at its first use.
template <class Build>
Grammar::Rule made(std::optional<Grammar::Rule>& rule, Grammar& grammar, const Build& build) {
  if (!rule) {
    rule = grammar.new_rule();
    grammar.define(*rule, build());
  }
  return *rule;
}

}  // namespace

Node JsonRules::space(Node next) {
  const Grammar::Rule rule = made(space_, grammar_, [&] {
    const auto blank = [&](Node after) { return grammar_.text(" ", after); };
    const Node indent = grammar_.repeat(0, most_indent, Grammar::end, blank);
    return any(grammar_, Grammar::end, blank(Grammar::end), grammar_.text("\n", indent));
  });
  return grammar_.call(rule, next);
}

Node JsonRules::colon(Node next) {
  return grammar_.text(":", any(grammar_, grammar_.text(" ", next), next));
}

Node JsonRules::hexadecimal(int count, Node next) {
  for (int i = 0; i < count; ++i)
    next = any(grammar_, grammar_.bytes('0', '9', next), grammar_.bytes('a', 'f', next),
               grammar_.bytes('A', 'F', next));
  return next;
}

Node JsonRules::character(Node next) {
  const Grammar::Rule rule = made(character_, grammar_, [&] {
    const Node end = Grammar::end;
    // Surrogates come in pairs: half of one is no character.
    const Node low = grammar_.text(
        "\\u", one_of("dD", grammar_, one_of("cdefCDEF", grammar_, hexadecimal(2, end))));
    const Node unicode =
        any(grammar_, one_of("0123456789abcefABCEF", grammar_, hexadecimal(3, end)),
            one_of("dD", grammar_,
                   any(grammar_, one_of("01234567", grammar_, hexadecimal(2, end)),
                       one_of("89abAB", grammar_, hexadecimal(2, low)))));
    const Node escape =
        any(grammar_, one_of("\"\\/bfnrt", grammar_, end), grammar_.text("u", unicode));
    return any(grammar_, plain().node(grammar_, end), grammar_.text("\\", escape));
  });
  return grammar_.call(rule, next);
}

Node JsonRules::spelled(const CharacterSet& set, Grammar& grammar, Node next) {
  struct Escape {
    char32_t character;
    const char* text;
  };
  constexpr Escape escapes[] = {{'"', "\\\""}, {'\\', "\\\\"}, {'\n', "\\n"},
                                {'\t', "\\t"}, {'\r', "\\r"},  {'\f', "\\f"}};
  std::vector<Node> nodes;
  for (const Escape& escape : escapes)
    if (set.has(escape.character)) nodes.push_back(grammar.text(escape.text, next));
  const CharacterSet others = set.without(plain().complement());
  if (!others.empty()) nodes.push_back(others.node(grammar, next));
  // A set of other controls alone has no spelling: a byte that no text continues.
  if (nodes.empty()) nodes.push_back(grammar.bytes(0xFF, 0xFF, next));
  return grammar.any_of(nodes);
}

Node JsonRules::string(Node next) {
  const Grammar::Rule rule = made(string_, grammar_, [&] {
    const Node close = grammar_.text("\"", Grammar::end);
    return grammar_.text(
        "\"", grammar_.repeat(0, -1, close, [&](Node after) { return character(after); }));
  });
  return grammar_.call(rule, next);
}

Node JsonRules::digits(std::int64_t least, std::int64_t most, Node next) {
  return grammar_.repeat(least, most, next,
                         [&](Node after) { return grammar_.bytes('0', '9', after); });
}

Node JsonRules::integer(Node next) {
  const Grammar::Rule rule = made(integer_, grammar_, [&] {
    const Node end = Grammar::end;
    const Node positive = grammar_.bytes('1', '9', digits(0, most_digits - 1, end));
    const Node all = any(grammar_, grammar_.text("0", end), positive);
    return any(grammar_, all, grammar_.text("-", positive));
  });
  return grammar_.call(rule, next);
}

Node JsonRules::number(Node next) {
  const Grammar::Rule rule = made(number_, grammar_, [&] {
    const Node end = Grammar::end;
    const Node power = digits(1, 2, end);  // within the range of double
    const Node exponent =
        one_of("eE", grammar_, any(grammar_, one_of("+-", grammar_, power), power));
    const Node behind = any(grammar_, exponent, end);
    const Node fraction = grammar_.text(".", digits(1, most_digits, behind));
    const Node rest = any(grammar_, fraction, behind);
    const Node all = any(grammar_, grammar_.text("0", rest),
                         grammar_.bytes('1', '9', digits(0, most_digits - 1, rest)));
    return any(grammar_, all, grammar_.text("-", all));
  });
  return grammar_.call(rule, next);
}

Node JsonRules::boolean(Node next) {
  return any(grammar_, grammar_.text("true", next), grammar_.text("false", next));
}

Grammar::Rule JsonRules::value_rule() {
  if (value_) return *value_;
  value_ = grammar_.new_rule();  // objects and arrays have values in turn
  const Node end = Grammar::end;
  grammar_.define(*value_, any(grammar_, object(end), array(end), string(end), number(end),
                               boolean(end), null(end)));
  return *value_;
}

Grammar::Rule JsonRules::object_rule() {
  if (object_) return *object_;
  object_ = grammar_.new_rule();
  const Node close = grammar_.text("}", Grammar::end);
  const auto member = [&](Node next) { return string(colon(value(next))); };
  const Node more = grammar_.repeat(
      0, -1, space(close), [&](Node next) { return grammar_.text(",", space(member(next))); });
  grammar_.define(*object_, grammar_.text("{", space(any(grammar_, close, member(more)))));
  return *object_;
}

Grammar::Rule JsonRules::array_rule() {
  if (array_) return *array_;
  array_ = grammar_.new_rule();
  const Node close = grammar_.text("]", Grammar::end);
  const Node more = grammar_.repeat(
      0, -1, space(close), [&](Node next) { return grammar_.text(",", space(value(next))); });
  grammar_.define(*array_, grammar_.text("[", space(any(grammar_, close, value(more)))));
  return *array_;
}

}  // namespace triax
