// SPDX-License-Identifier: Apache-2.0
#pragma once
// A grammar as a machine that reads bytes, made state by state as texts reach them.
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "src/inference/constraint/grammar.hpp"

namespace triax {

class Automaton {
 public:
  using State = std::int32_t;
  static constexpr State dead = -1;

  explicit Automaton(Grammar grammar);

  State begin() const { return begin_; }
  /// State behind one more byte; dead: no text of the grammar goes on so.
  State next(State state, unsigned char byte);
  /// Whether a text of the grammar may end here, and whether one may go on.
  bool accepts(State state) const { return of(state).accepts; }
  bool goes_on(State state) const { return !of(state).places.empty(); }
  std::size_t states() const { return states_.size(); }
  /// Forgets all states but those of `kept`, which get new numbers.
  void forget(std::span<State* const> kept);

 private:
  static constexpr State unknown = -2;
  // Node behind a call, and those of the calls around it: equal stacks have one number.
  struct Frame {
    Grammar::Node node = Grammar::end;
    std::int32_t outer = -1;
    std::int32_t depth = 0;
    auto operator<=>(const Frame&) const = default;
  };
  // A node that reads a byte, within the calls of a frame.
  using Place = std::pair<Grammar::Node, std::int32_t>;
  struct Reached {
    std::vector<Place> places;  // ascending
    bool accepts = false;
    std::array<State, 256> next = {};
  };
  const Reached& of(State state) const { return states_[static_cast<std::size_t>(state)]; }
  std::int32_t frame(const Frame& frame);
  // The state of places and all that they reach without a byte.
  State state_of(std::vector<Place> open);
  State number_of(Reached reached);

  Grammar grammar_;
  std::vector<Frame> frames_;
  std::map<Frame, std::int32_t> frame_numbers_;
  std::vector<Reached> states_;
  std::map<std::pair<std::vector<Place>, bool>, State> state_numbers_;
  State begin_;
};

}  // namespace triax
