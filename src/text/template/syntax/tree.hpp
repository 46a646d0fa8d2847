// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tree of a template.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "src/text/template/value/operators.hpp"
#include "src/text/template/value/value.hpp"

namespace triax::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

enum class Comparison { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr more, more_named;  // *more, **more_named; null: none
};

struct Expression {
  enum class Kind {
    constant,     // value
    name,         // name
    list,         // parts
    tuple,        // parts
    dict,         // parts: key, value, key, value, ...
    attribute,    // parts[0].name
    subscript,    // parts[0][parts[1]]
    slice,        // parts[0][parts[1]:parts[2]:parts[3]]; null bounds are open
    call,         // parts[0](arguments)
    filter,       // parts[0] | name(arguments); null: the text of the block
    test,         // parts[0] is name(arguments)
    minus,        // -parts[0]
    plus,         // +parts[0]
    negation,     // not parts[0]
    operation,    // parts[0] op parts[1]
    concat,       // parts joined by ~
    comparison,   // parts[i] comparisons[i] parts[i + 1], all of them
    both,         // parts[0] and parts[1]
    either,       // parts[0] or parts[1]
    conditional,  // parts[1] if parts[0] else parts[2]; null: undefined
  };
  Kind kind;
  std::size_t at = 0;  // offset in the source
  std::string name = {};
  Value value = {};
  Operator op = Operator::add;
  std::vector<Comparison> comparisons = {};
  std::vector<ExpressionPtr> parts = {};
  CallArguments arguments = {};
  int depth = 1;  // of the tree from here

  /// Takes a part, which may be null. Fault where the tree gets too deep.
  void adopt(ExpressionPtr part) {
    deepen(part.get());
    parts.push_back(std::move(part));
  }
  void adopt(CallArguments given) {
    for (const ExpressionPtr& part : given.positional) deepen(part.get());
    for (const auto& [ignored, part] : given.named) deepen(part.get());
    deepen(given.more.get());
    deepen(given.more_named.get());
    arguments = std::move(given);
  }

 private:
  static constexpr int deepest = 300;
  void deepen(const Expression* part) {
    if (part != nullptr) depth = std::max(depth, part->depth + 1);
    if (depth > deepest) throw Fault("the expression is nested too deeply");
  }
};

/// A variable that is set: a name, an attribute of a namespace, or several to unpack to.
struct Target {
  std::size_t at = 0;
  std::string name;
  std::string attribute;      // of the namespace `name`; empty: the variable itself
  std::vector<Target> parts;  // not empty: unpacks
};

struct Statement;
using Body = std::vector<Statement>;

struct Parameter {
  std::string name;
  ExpressionPtr otherwise;  // default; null: undefined
};

struct MacroBody {
  std::string name;
  std::vector<Parameter> parameters;
  bool takes_more = false;        // its body names varargs
  bool takes_more_named = false;  // its body names kwargs
  Body body;
};

struct Data {
  std::string text;
};
struct Print {
  ExpressionPtr expression;
};
struct If {
  struct Branch {
    ExpressionPtr condition;  // null: else
    Body body;
  };
  std::vector<Branch> branches;
};
struct For {
  Target target;
  ExpressionPtr items, condition;  // condition: null if there is none
  Body body, otherwise;
};
struct Set {
  Target target;
  ExpressionPtr value;
};
struct SetBlock {
  Target target;
  ExpressionPtr filters;  // null: none
  Body body;
};
struct Macro {
  MacroBody macro;
};
struct CallBlock {
  ExpressionPtr call;
  MacroBody caller;
};
struct FilterBlock {
  ExpressionPtr filters;
  Body body;
};
struct Generation {
  Body body;
};
struct Break {};
struct Continue {};

struct Statement {
  std::size_t at = 0;
  std::variant<Data, Print, If, For, Set, SetBlock, Macro, CallBlock, FilterBlock, Generation,
               Break, Continue>
      form;
};

}  // namespace triax::jinja
