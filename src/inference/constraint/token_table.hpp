// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bytes of all tokens, and which of them an automaton takes.
#include <cstdint>
#include <string>
#include <vector>

#include "src/inference/constraint/automaton.hpp"
#include "src/inference/constraint/token_mask.hpp"

namespace triax {

class TokenTable {
 public:
  /// `bytes`: of each token; empty: it is no text, and never taken.
  explicit TokenTable(std::vector<std::string> bytes);

  std::size_t size() const { return bytes_.size(); }
  const std::string& bytes(std::int32_t token) const {
    return bytes_[static_cast<std::size_t>(token)];
  }
  /// Tokens whose bytes lead from a state to another.
  TokenMask allowed(Automaton& automaton, Automaton::State state) const;

 private:
  struct Entry {
    std::int32_t token;
    std::uint32_t shared;  // bytes at its beginning that the entry before has, too
  };
  std::vector<std::string> bytes_;
  std::vector<Entry> sorted_;  // by bytes
};

}  // namespace triax
