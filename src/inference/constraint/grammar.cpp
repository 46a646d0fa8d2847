// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/grammar.hpp"

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::size_t most_nodes = 200'000;

}  // namespace

Grammar::Grammar() : steps_(1) {}

Grammar::Node Grammar::add(const Step& step) {
  if (steps_.size() >= most_nodes)
    throw UsageError("the form of the answer is too large",
                     fmt::format("it has more than {} parts", most_nodes),
                     "Lower its numbers of repetitions");
  steps_.push_back(step);
  return static_cast<Node>(steps_.size() - 1);
}

Grammar::Node Grammar::bytes(unsigned char low, unsigned char high, Node next) {
  return add({Kind::bytes, low, high, next, 0});
}

Grammar::Node Grammar::text(std::string_view text, Node next) {
  for (auto at = text.rbegin(); at != text.rend(); ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    next = bytes(byte, byte, next);
  }
  return next;
}

Grammar::Node Grammar::any_of(std::span<const Node> nodes) {
  Node all = nodes.back();
  for (auto at = nodes.rbegin() + 1; at != nodes.rend(); ++at)
    all = add({Kind::either, 0, 0, *at, all});
  return all;
}

Grammar::Node Grammar::call(Rule rule, Node next) {
  return add({Kind::call, 0, 0, next, rule});
}

Grammar::Rule Grammar::new_rule() {
  rules_.push_back(end);
  return static_cast<Rule>(rules_.size() - 1);
}

}  // namespace triax
