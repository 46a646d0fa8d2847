// SPDX-License-Identifier: Apache-2.0
#pragma once
// Variables of a rendering: a block of its own sees those around it, and sets its own.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/text/template/value/value.hpp"

namespace triax::jinja {

struct Scope {
  Scope* outer = nullptr;
  bool captured = false;  // a macro was made in it or inside of it
  std::vector<std::pair<std::string, Value>> variables;

  Value* find(const std::string& name);
};

class Scopes {
 public:
  Scopes();

  /// The variable as the current scope sees it; null: there is none.
  const Value* find(const std::string& name);
  void set(const std::string& name, Value value);
  /// The current scope, which lives as long as the scopes from now on.
  Scope* capture();

  /// A scope inside of `outer`, current for the life of the object.
  class Inside {
   public:
    Inside(Scopes& scopes, Scope* outer);
    explicit Inside(Scopes& scopes) : Inside(scopes, scopes.current()) {}
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Scopes& scopes_;
  };
  Scope* current() { return open_.back().get(); }

 private:
  std::vector<std::unique_ptr<Scope>> open_, captured_;
};

}  // namespace triax::jinja
