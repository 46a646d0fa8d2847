// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values of expressions.
#include <cstddef>

#include "src/text/template/builtin/host.hpp"
#include "src/text/template/scopes.hpp"
#include "src/text/template/syntax/tree.hpp"

namespace triax::jinja {

class Evaluator : public Host {
 public:
  /// Steps that a rendering may take: an endless loop ends so.
  static constexpr std::size_t most_steps = 20'000'000;

  /// The variables outlive the evaluator.
  Evaluator(const Dict& variables, const Clock& clock) : variables_(variables), clock_(clock) {}

  /// Fault where an operation is not possible; position() is its offset in the source then.
  Value evaluate(const Expression& expression);
  /// A chain of filters without a value, on `input`.
  Value filtered(const Expression& chain, const Value& input);
  Value call(const Value& function, const Arguments& arguments);
  Arguments evaluate(const CallArguments& arguments);

  Scopes& scopes() { return scopes_; }
  std::size_t position() const { return at_; }
  void set_position(std::size_t at) { at_ = at; }

  Value filter(const std::string& name, const Arguments& arguments) override;
  bool check(const std::string& name, const Arguments& arguments) override;
  void charge(std::size_t steps) override;
  const Clock& clock() const override { return clock_; }

  /// Counts nested work for the life of the object. Fault where it is too deep.
  class Level {
   public:
    explicit Level(Evaluator& evaluator);
    ~Level() { --evaluator_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Evaluator& evaluator_;
  };

 private:
  Value part(const Expression& expression, std::size_t i);
  Value evaluate_kind(const Expression& expression);
  Value evaluate_name(const std::string& name);
  List evaluate_parts(const Expression& expression);
  Value evaluate_dict(const Expression& expression);
  Value evaluate_filter(const Expression& expression, const Value& input);
  Value evaluate_concat(const Expression& expression);
  Value evaluate_comparison(const Expression& expression);
  Value evaluate_slice(const Expression& expression);

  const Dict& variables_;
  const Clock& clock_;
  Scopes scopes_;
  std::size_t at_ = 0, steps_ = 0;
  int depth_ = 0;
};

}  // namespace triax::jinja
