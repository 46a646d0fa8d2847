// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/scopes.hpp"

#include <algorithm>

namespace triax::jinja {

Value* Scope::find(const std::string& name) {
  const auto found = std::ranges::find(variables, name, &std::pair<std::string, Value>::first);
  return found == variables.end() ? nullptr : &found->second;
}

Scopes::Scopes() {
  open_.push_back(std::make_unique<Scope>());
}

const Value* Scopes::find(const std::string& name) {
  for (Scope* scope = current(); scope != nullptr; scope = scope->outer)
    if (const Value* const found = scope->find(name); found != nullptr) return found;
  return nullptr;
}

void Scopes::set(const std::string& name, Value value) {
  if (Value* const found = current()->find(name); found != nullptr)
    *found = std::move(value);
  else
    current()->variables.emplace_back(name, std::move(value));
}

Scope* Scopes::capture() {
  for (Scope* scope = current(); scope != nullptr && !scope->captured; scope = scope->outer)
    scope->captured = true;
  return current();
}

Scopes::Inside::Inside(Scopes& scopes, Scope* outer) : scopes_(scopes) {
  scopes_.open_.push_back(
      std::make_unique<Scope>(Scope{.outer = outer, .captured = false, .variables = {}}));
}

Scopes::Inside::~Inside() {
  if (scopes_.current()->captured) scopes_.captured_.push_back(std::move(scopes_.open_.back()));
  scopes_.open_.pop_back();
}

}  // namespace triax::jinja
