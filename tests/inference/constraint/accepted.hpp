// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts that a grammar has.
#include <string>

#include "src/inference/constraint/automaton.hpp"
#include "src/inference/constraint/constraint.hpp"

namespace triax::test {

using Kind = ConstraintSpec::Kind;

/// Whether the whole `text` is a text of the automaton.
inline bool accepts(Automaton& automaton, const std::string& text) {
  Automaton::State state = automaton.begin();
  for (const char c : text) {
    state = automaton.next(state, static_cast<unsigned char>(c));
    if (state == Automaton::dead) return false;
  }
  return automaton.accepts(state);
}

inline Automaton automaton_of(Kind kind, const std::string& text = {}) {
  return Automaton(grammar_of({.kind = kind, .text = text}));
}

}  // namespace triax::test
