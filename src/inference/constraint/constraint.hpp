// SPDX-License-Identifier: Apache-2.0
#pragma once
// Forms that answers must have, as requests name them.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/inference/constraint/constraint_spec.hpp"
#include "src/inference/constraint/token_table.hpp"

namespace triax {

/// The grammar of a spec. UsageError for what is not built, or wrong.
Grammar grammar_of(const ConstraintSpec& spec);

/// Bytes of each token of a model; empty: the token is no text.
using TokenBytes = std::function<std::vector<std::string>()>;

class TokenConstraints;

/// The form of one answer under way. Used by one thread.
class Constraint {
 public:
  /// Tokens that may come next; those that end the answer are not among them.
  const TokenMask& allowed() const;
  /// The same with `ends`, tokens that end the answer, where it may end.
  TokenMask allowed_with(std::span<const std::int32_t> ends) const;
  /// Whether the answer may end here, and whether it must: nothing may follow.
  bool may_end() const;
  bool must_end() const;
  /// Goes on by a token that is allowed.
  void take(std::int32_t token);

  ~Constraint();
  Constraint(const Constraint&) = delete;
  Constraint& operator=(const Constraint&) = delete;

 private:
  friend TokenConstraints;
  struct Shared;
  explicit Constraint(std::shared_ptr<Shared> shared);

  std::shared_ptr<Shared> shared_;
  Automaton::State state_;
};

/// Constraints over the tokens of one model. Answers of one form share what is found out about it.
class TokenConstraints {
 public:
  /// `bytes` is called at the first constraint; empty: constraints are refused.
  explicit TokenConstraints(TokenBytes bytes) : bytes_(std::move(bytes)) {}

  /// Null where the spec asks for nothing. UsageError as grammar_of().
  std::unique_ptr<Constraint> make(const ConstraintSpec& spec);

 private:
  TokenBytes bytes_;
  std::shared_ptr<const TokenTable> table_;
  std::map<ConstraintSpec, std::shared_ptr<Constraint::Shared>> known_;
};

}  // namespace triax
