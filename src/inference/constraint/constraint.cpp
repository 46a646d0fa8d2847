// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/constraint.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "kernels/base/check.hpp"
#include "src/inference/constraint/json_rules.hpp"
#include "src/inference/constraint/json_schema.hpp"
#include "src/inference/constraint/regex.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t most_states = 20'000;  // of an automaton, beside those of open answers
constexpr std::size_t most_forms = 64;       // that are kept

Grammar::Node choice_node(const std::string& text, Grammar& grammar, Grammar::Node next) {
  std::vector<Grammar::Node> nodes;
  for (const ordered_json& one : ordered_json::parse(text))
    nodes.push_back(grammar.text(one.get_ref<const std::string&>(), next));
  if (nodes.empty()) throw UsageError("a choice of nothing", {}, "Give at least one text");
  return grammar.any_of(nodes);
}

Grammar::Node regex_node(const std::string& text, Grammar& grammar, Grammar::Node next) {
  const auto as_it_is = [](const CharacterSet& set, Grammar& of, Grammar::Node after) {
    return set.node(of, after);
  };
  return Regex(text).node(grammar, next, /*search=*/false, as_it_is);
}

Grammar::Node form_node(const ConstraintSpec& spec, Grammar& grammar, Grammar::Node next) {
  switch (spec.kind) {
    case ConstraintSpec::Kind::choice:
      return choice_node(spec.text, grammar, next);
    case ConstraintSpec::Kind::regex:
      return regex_node(spec.text, grammar, next);
    case ConstraintSpec::Kind::json_object:
      return JsonRules(grammar).object(next);
    case ConstraintSpec::Kind::json_schema:
      return schema_node(ordered_json::parse(spec.text), grammar, next);
    case ConstraintSpec::Kind::none:
      break;
  }
  return next;
}

}  // namespace

Grammar grammar_of(const ConstraintSpec& spec) {
  Grammar grammar;
  const Grammar::Node after = grammar.text(spec.after, Grammar::end);
  grammar.begin_at(grammar.text(spec.before, form_node(spec, grammar, after)));
  return grammar;
}

// Common state of the answers of one form.
struct Constraint::Shared {
  std::shared_ptr<const TokenTable> tokens;
  Automaton automaton;
  std::unordered_map<Automaton::State, TokenMask> masks = {};
  std::set<Automaton::State*> open = {};  // of answers under way

  void bound_memory() {
    if (automaton.states() <= most_states) return;
    masks.clear();
    const std::vector<Automaton::State*> kept(open.begin(), open.end());
    automaton.forget(kept);
  }
};

Constraint::Constraint(std::shared_ptr<Shared> shared)
    : shared_(std::move(shared)), state_(shared_->automaton.begin()) {
  shared_->open.insert(&state_);
}

Constraint::~Constraint() {
  shared_->open.erase(&state_);
}

const TokenMask& Constraint::allowed() const {
  shared_->bound_memory();
  const auto known = shared_->masks.find(state_);
  if (known != shared_->masks.end()) return known->second;
  return shared_->masks.emplace(state_, shared_->tokens->allowed(shared_->automaton, state_))
      .first->second;
}

TokenMask Constraint::allowed_with(std::span<const std::int32_t> ends) const {
  TokenMask mask = allowed();
  const bool may = may_end();
  for (const std::int32_t token : ends) mask.set(token, may);
  return mask;
}

bool Constraint::may_end() const {
  return shared_->automaton.accepts(state_);
}

bool Constraint::must_end() const {
  return may_end() && !shared_->automaton.goes_on(state_);
}

void Constraint::take(std::int32_t token) {
  shared_->bound_memory();
  Automaton::State at = state_;
  for (const char c : shared_->tokens->bytes(token)) {
    at = shared_->automaton.next(at, static_cast<unsigned char>(c));
    check(at != Automaton::dead, "token {} is against the form of its answer", token);
  }
  state_ = at;
}

std::unique_ptr<Constraint> TokenConstraints::make(const ConstraintSpec& spec) {
  if (spec.kind == ConstraintSpec::Kind::none) return nullptr;
  auto found = known_.find(spec);
  if (found == known_.end()) {
    if (!bytes_)
      throw UsageError("answers of a given form are not built for this engine", {},
                       "Leave out response_format and guided_...");
    if (!table_) table_ = std::make_shared<const TokenTable>(bytes_());
    auto shared = std::make_shared<Constraint::Shared>(
        Constraint::Shared{table_, Automaton(grammar_of(spec))});
    if (known_.size() >= most_forms) known_.clear();
    found = known_.emplace(spec, std::move(shared)).first;
  }
  return std::unique_ptr<Constraint>(new Constraint(found->second));
}

}  // namespace triax
