// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/automaton.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace triax {
namespace {

constexpr std::int32_t outermost = -1;
constexpr std::int32_t deepest = 1000;  // calls within calls; deeper ones lead to no text

}  // namespace

Automaton::Automaton(Grammar grammar) : grammar_(std::move(grammar)) {
  begin_ = state_of({{grammar_.begin(), outermost}});
}

std::int32_t Automaton::frame(const Frame& of) {
  const auto [found, is_new] =
      frame_numbers_.try_emplace(of, static_cast<std::int32_t>(frames_.size()));
  if (is_new) frames_.push_back(of);
  return found->second;
}

Automaton::State Automaton::state_of(std::vector<Place> open) {
  std::set<Place> seen(open.begin(), open.end());
  Reached reached;
  const auto add = [&](Grammar::Node node, std::int32_t of) {
    if (seen.emplace(node, of).second) open.emplace_back(node, of);
  };
  while (!open.empty()) {
    const auto [node, within] = open.back();
    open.pop_back();
    const Grammar::Step& step = grammar_.step(node);
    switch (step.kind) {
      case Grammar::Kind::bytes:
        reached.places.emplace_back(node, within);
        break;
      case Grammar::Kind::either:
        add(step.next, within);
        add(step.other, within);
        break;
      case Grammar::Kind::call: {
        const std::int32_t depth =
            within == outermost ? 1 : frames_[static_cast<std::size_t>(within)].depth + 1;
        if (depth <= deepest) add(grammar_.first_of(step.other), frame({step.next, within, depth}));
        break;
      }
      case Grammar::Kind::end:
        if (within == outermost) {
          reached.accepts = true;
        } else {
          const Frame& back = frames_[static_cast<std::size_t>(within)];
          add(back.node, back.outer);
        }
    }
  }
  if (reached.places.empty() && !reached.accepts) return dead;
  std::ranges::sort(reached.places);
  return number_of(std::move(reached));
}

Automaton::State Automaton::number_of(Reached reached) {
  const auto [found, is_new] = state_numbers_.try_emplace({reached.places, reached.accepts},
                                                          static_cast<State>(states_.size()));
  reached.next.fill(unknown);
  if (is_new) states_.push_back(std::move(reached));
  return found->second;
}

void Automaton::forget(std::span<State* const> kept) {
  std::vector<Reached> all = std::exchange(states_, {});
  state_numbers_.clear();
  const auto anew = [&](State state) {
    const Reached& old = all[static_cast<std::size_t>(state)];
    return number_of({.places = old.places, .accepts = old.accepts, .next = {}});
  };
  begin_ = anew(begin_);
  for (State* const state : kept) *state = anew(*state);
}

Automaton::State Automaton::next(State state, unsigned char byte) {
  State& known = states_[static_cast<std::size_t>(state)].next[byte];
  if (known != unknown) return known;
  std::vector<Place> open;
  for (const auto& [node, within] : of(state).places) {
    const Grammar::Step& step = grammar_.step(node);
    if (step.low <= byte && byte <= step.high) open.emplace_back(step.next, within);
  }
  const State found = open.empty() ? dead : state_of(std::move(open));
  states_[static_cast<std::size_t>(state)].next[byte] = found;  // states_ may have moved
  return found;
}

}  // namespace triax
