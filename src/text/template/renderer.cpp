// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/renderer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/text/template/value/print.hpp"

namespace triax::jinja {
namespace {

constexpr std::size_t bytes_a_step = 64, items_a_step = 4;

template <class... Each>
struct Overloaded : Each... {
  using Each::operator()...;
};
// Clang deduces the arguments of such an aggregate from version 17 on.
template <class... Each>
Overloaded(Each...) -> Overloaded<Each...>;

const Value* named(const Arguments& arguments, const std::string& name) {
  for (const auto& [given, value] : arguments.named)
    if (given == name) return &value;
  return nullptr;
}

}  // namespace

void Renderer::render(const Body& body) {
  run(body);
  check_generated();
}

void Renderer::write(std::string_view more) {
  if (out_->size() + more.size() > largest_result) throw Fault("the rendered text is too long");
  evaluator_.charge(more.size() / bytes_a_step);
  *out_ += more;
}

Renderer::Flow Renderer::run(const Body& body) {
  const Evaluator::Level level(evaluator_);
  for (const Statement& statement : body)
    if (const Flow flow = run(statement); flow != Flow::end) return flow;
  return Flow::end;
}

Renderer::Flow Renderer::run(const Statement& statement) {
  evaluator_.charge(1);
  const auto done = [](auto&&...) { return Flow::end; };
  return std::visit(
      Overloaded{[&](const Data& data) { return done((write(data.text), 0)); },
                 [&](const Print& block) {
                   const Value value = evaluator_.evaluate(*block.expression);
                   evaluator_.set_position(block.expression->at);
                   return done((write(print(value)), 0));
                 },
                 [&](const If& block) { return run_if(block); },
                 [&](const For& block) { return run_for(block); },
                 [&](const Set& block) {
                   const Value value = evaluator_.evaluate(*block.value);
                   return done((assign(block.target, value), 0));
                 },
                 [&](const SetBlock& block) { return run_set_block(block); },
                 [&](const Macro& block) {
                   return done((scopes_.set(block.macro.name, macro(block.macro)), 0));
                 },
                 [&](const CallBlock& block) { return done((run_call_block(block), 0)); },
                 [&](const FilterBlock& block) { return run_filter_block(block); },
                 [&](const Generation& block) {
                   evaluator_.set_position(statement.at);
                   return done((run_generation(block), 0));
                 },
                 [](const Break&) { return Flow::leave; },
                 [](const Continue&) { return Flow::again; }},
      statement.form);
}

Renderer::Flow Renderer::run_if(const If& block) {
  for (const If::Branch& branch : block.branches)
    if (!branch.condition || evaluator_.evaluate(*branch.condition).truth())
      return run(branch.body);
  return Flow::end;
}

// A condition sees the variables around the loop and the item.
LoopItems::Takes Renderer::condition(const For& loop) {
  if (!loop.condition) return {};
  return [this, &loop, around = scopes_.current()](const Value& item) {
    const Scopes::Inside inside(scopes_, around);
    assign(loop.target, item);
    return evaluator_.evaluate(*loop.condition).truth();
  };
}

Renderer::Flow Renderer::run_for(const For& loop) {
  const Value items = evaluator_.evaluate(*loop.items);
  evaluator_.set_position(loop.items->at);
  List all = items_of(items);
  evaluator_.charge(all.size() / items_a_step);
  const auto walk = std::make_shared<LoopItems>(std::move(all), condition(loop));
  const Value variable{loop_object(walk)};
  bool whole = false;  // a body ran to its end: as in Jinja, `else` counts no other one
  while (const Value* const next = walk->next()) {
    const Value item = *next;  // looking ahead moves the items
    evaluator_.charge(1);
    const Scopes::Inside inside(scopes_);
    scopes_.set("loop", variable);
    assign(loop.target, item);
    const Flow flow = run(loop.body);
    whole = whole || flow == Flow::end;
    if (flow != Flow::leave) continue;
    walk->leave();
    break;
  }
  if (whole) return Flow::end;
  const Scopes::Inside inside(scopes_);
  return run(loop.otherwise);
}

std::string Renderer::captured(const Body& body, Flow* flow) {
  std::string inner;
  std::string* const outer = std::exchange(out_, &inner);
  const Scopes::Inside inside(scopes_);
  const Flow end = run(body);
  if (flow != nullptr) *flow = end;
  out_ = outer;
  return inner;
}

Renderer::Flow Renderer::run_set_block(const SetBlock& block) {
  Flow flow{};
  Value value = Value::of(captured(block.body, &flow));
  if (flow != Flow::end) return flow;
  if (block.filters) value = evaluator_.filtered(*block.filters, value);
  assign(block.target, value);
  return Flow::end;
}

Renderer::Flow Renderer::run_filter_block(const FilterBlock& block) {
  Flow flow{};
  const Value inner = Value::of(captured(block.body, &flow));
  if (flow == Flow::end) write(print(evaluator_.filtered(*block.filters, inner)));
  return flow;
}

void Renderer::run_generation(const Generation& block) {
  const std::size_t at = evaluator_.position(), begin = text.size();
  std::string inner = captured(block.body, nullptr);
  spans_.push_back({{begin, begin + inner.size()}, inner, at});
  write(inner);
}

// A span inside of a macro or of a captured block is known as far as its text stands there in the
// end.
void Renderer::check_generated() {
  for (const Generated& found : spans_) {
    if (text.compare(std::min(found.span.begin, text.size()), found.text.size(), found.text) != 0) {
      evaluator_.set_position(found.at);
      throw Fault("{% generation %} is in a macro or block that changes its text");
    }
    generated.push_back(found.span);
  }
}

void Renderer::assign(const Target& target, const Value& value) {
  if (!target.parts.empty()) {
    const List items = items_of(value);
    if (items.size() != target.parts.size()) {
      evaluator_.set_position(target.at);
      throw Fault(fmt::format("{} variables for {} values", target.parts.size(), items.size()));
    }
    for (std::size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i]);
    return;
  }
  if (target.attribute.empty()) return scopes_.set(target.name, value);
  evaluator_.set_position(target.at);
  const Value* const space = scopes_.find(target.name);
  if (space == nullptr || !space->is(Value::Kind::object))
    throw Fault(fmt::format("{}.{} cannot be set: {} is no namespace", target.name,
                            target.attribute, target.name));
  space->object()->set_attribute(target.attribute, value);
}

Value Renderer::macro(const MacroBody& macro) {
  return Value::function(
      macro.name, [this, &macro, home = scopes_.capture()](Host&, const Arguments& arguments) {
        return call_macro(macro, home, arguments);
      });
}

void Renderer::run_call_block(const CallBlock& block) {
  const Value function = evaluator_.evaluate(*block.call->parts[0]);
  Arguments arguments = evaluator_.evaluate(block.call->arguments);
  arguments.named.emplace_back("caller", macro(block.caller));
  evaluator_.set_position(block.call->at);
  write(print(evaluator_.call(function, arguments)));
}

Value Renderer::call_macro(const MacroBody& macro, Scope* home, const Arguments& arguments) {
  const Evaluator::Level level(evaluator_);
  const Scopes::Inside inside(scopes_, home);
  bind(macro, arguments);
  return Value::of(captured(macro.body, nullptr));
}

void Renderer::bind(const MacroBody& macro, const Arguments& arguments) {
  const std::size_t fixed = macro.parameters.size(), given = arguments.positional.size();
  if (given > fixed && !macro.takes_more)
    throw Fault(fmt::format("the macro {} takes at most {} arguments; it gets {}", macro.name,
                            fixed, given));
  bind_named(macro, arguments);
  std::vector<const Parameter*> missing;
  for (std::size_t i = 0; i < fixed; ++i) {
    const Parameter& parameter = macro.parameters[i];
    const Value* const value =
        i < given ? &arguments.positional[i] : named(arguments, parameter.name);
    if (value == nullptr) missing.push_back(&parameter);
    scopes_.set(parameter.name, value != nullptr
                                    ? *value
                                    : Value::undefined(fmt::format("parameter '{}' was not given",
                                                                   parameter.name)));
  }
  for (const Parameter* const parameter : missing)  // a default sees all the parameters
    if (parameter->otherwise)
      scopes_.set(parameter->name, evaluator_.evaluate(*parameter->otherwise));
  if (!macro.takes_more) return;
  const auto rest =
      arguments.positional.begin() + static_cast<std::ptrdiff_t>(std::min(given, fixed));
  scopes_.set("varargs", Value::tuple(List(rest, arguments.positional.end())));
}

// Named arguments beyond the parameters.
void Renderer::bind_named(const MacroBody& macro, const Arguments& arguments) {
  Dict more;
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::ranges::find(macro.parameters, name, &Parameter::name);
    if (found != macro.parameters.end()) {
      if (static_cast<std::size_t>(found - macro.parameters.begin()) < arguments.positional.size())
        throw Fault(fmt::format("the macro {} gets {} twice", macro.name, name));
    } else if (name == "caller") {
      scopes_.set(name, value);
    } else if (macro.takes_more_named) {
      more.set(name, value);
    } else {
      throw Fault(fmt::format("the macro {} has no parameter {}", macro.name, name));
    }
  }
  if (macro.takes_more_named) scopes_.set("kwargs", Value::of(std::move(more)));
}

}  // namespace triax::jinja
