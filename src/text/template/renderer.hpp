// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text of a tree.
#include <string>
#include <vector>

#include "src/text/template/evaluator.hpp"
#include "src/text/template/loop.hpp"
#include "src/text/template/syntax/tree.hpp"

namespace triax::jinja {

/// Bytes [begin, end) of a text.
struct TextSpan {
  std::size_t begin = 0, end = 0;
  bool operator==(const TextSpan&) const = default;
};

class Renderer {
 public:
  /// All arguments outlive the renderer.
  Renderer(const Dict& variables, const Clock& clock) : evaluator_(variables, clock) {}

  /// Fault where an operation is not possible, at position(); Raised by raise_exception.
  void render(const Body& body);
  std::size_t position() const { return evaluator_.position(); }

  std::string text;
  std::vector<TextSpan> generated;  // spans of {% generation %}, in the order of their ends

 private:
  // How a body ends: at its end, by {% continue %} or by {% break %}.
  enum class Flow { end, again, leave };

  Flow run(const Body& body);
  Flow run(const Statement& statement);
  Flow run_if(const If& block);
  Flow run_for(const For& loop);
  Flow run_set_block(const SetBlock& block);
  Flow run_filter_block(const FilterBlock& block);
  void run_generation(const Generation& block);
  void run_call_block(const CallBlock& block);
  void write(std::string_view more);
  std::string captured(const Body& body, Flow* flow);
  Value macro(const MacroBody& macro);
  Value call_macro(const MacroBody& macro, Scope* home, const Arguments& arguments);
  void bind(const MacroBody& macro, const Arguments& arguments);
  void bind_named(const MacroBody& macro, const Arguments& arguments);
  void assign(const Target& target, const Value& value);
  LoopItems::Takes condition(const For& loop);
  void check_generated();

  struct Generated {
    TextSpan span;
    std::string text;
    std::size_t at;
  };
  Evaluator evaluator_;
  Scopes& scopes_ = evaluator_.scopes();
  std::string* out_ = &text;
  std::vector<Generated> spans_;
};

}  // namespace triax::jinja
