// SPDX-License-Identifier: Apache-2.0
#pragma once
// A context-free grammar over bytes, as a graph that a text walks through.
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace triax {

/// A graph of nodes, built from its end: each function returns the first node of a part that goes
/// on at `next`. UsageError for a grammar of too many nodes.
class Grammar {
 public:
  using Node = std::int32_t;
  using Rule = std::int32_t;

  enum class Kind : std::uint8_t {
    end,     // of the rule
    bytes,   // one byte from low to high, then next
    either,  // next or other, without a byte
    call,    // the rule `other`, then next
  };
  struct Step {
    Kind kind = Kind::end;
    unsigned char low = 0, high = 0;
    Node next = 0, other = 0;
  };

  Grammar();

  /// End of every rule.
  static constexpr Node end = 0;
  Node bytes(unsigned char low, unsigned char high, Node next);
  Node text(std::string_view text, Node next);
  /// One of several nodes, at least one.
  Node any_of(std::span<const Node> nodes);
  Node call(Rule rule, Node next);
  /// A rule without a beginning yet: rules may call each other.
  Rule new_rule();
  void define(Rule rule, Node first) { rules_[static_cast<std::size_t>(rule)] = first; }

  /// `least` to `most` times what `part(next)` builds, then `next`. most < 0: any number.
  template <class Part>
  Node repeat(std::int64_t least, std::int64_t most, Node next, const Part& part) {
    Node first = next;
    if (most < 0) {
      first = add({Kind::either, 0, 0, next, next});
      const Node once = part(first);
      steps_[static_cast<std::size_t>(first)].other = once;
    }
    for (std::int64_t i = least; i < most; ++i) {
      const Node nodes[] = {part(first), next};
      first = any_of(nodes);
    }
    for (std::int64_t i = 0; i < least; ++i) first = part(first);
    return first;
  }

  const Step& step(Node node) const { return steps_[static_cast<std::size_t>(node)]; }
  Node first_of(Rule rule) const { return rules_[static_cast<std::size_t>(rule)]; }
  /// Where a text begins: the first node of the whole.
  Node begin() const { return begin_; }
  void begin_at(Node node) { begin_ = node; }

 private:
  Node add(const Step& step);

  std::vector<Step> steps_;
  std::vector<Node> rules_;
  Node begin_ = end;
};

}  // namespace triax
