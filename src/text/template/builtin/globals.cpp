// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/builtin/globals.hpp"

#include <fmt/format.h>

#include <array>

#include "src/text/template/builtin/host.hpp"
#include "src/text/template/builtin/parameters.hpp"
#include "src/text/template/value/print.hpp"

namespace triax::jinja {
namespace {

constexpr std::int64_t longest_range = 100'000;  // Jinja's sandbox

class Namespace : public Object {
 public:
  explicit Namespace(Dict attributes) : attributes_(std::move(attributes)) {}
  std::string type_name() const override { return "a namespace"; }
  Value attribute(const std::string& name) override {
    const Value* const found = attributes_.find(name);
    return found != nullptr
               ? *found
               : Value::undefined(fmt::format("the namespace has no attribute '{}'", name));
  }
  void set_attribute(const std::string& name, Value value) override {
    attributes_.set(name, std::move(value));
  }

 private:
  Dict attributes_;
};

// dict(): of a dict or of pairs, and of named arguments.
Dict dict_of(const char* function, const Arguments& arguments) {
  if (arguments.positional.size() > 1)
    throw Fault(fmt::format("{} takes at most one argument", function));
  Dict dict;
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional[0];
    if (from.is(Value::Kind::dict)) {
      dict = from.dict();
    } else {
      for (const Value& item : items_of(from)) {
        const List pair = items_of(item);
        if (pair.size() != 2) throw Fault(fmt::format("{} takes a dict or pairs", function));
        dict.set(pair[0], pair[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) dict.set(name, value);
  return dict;
}

Value make_namespace(Host&, const Arguments& arguments) {
  return {std::shared_ptr<Object>(std::make_shared<Namespace>(dict_of("namespace", arguments)))};
}

Value make_dict(Host&, const Arguments& arguments) {
  return Value::of(dict_of("dict", arguments));
}

Value raise_exception(Host&, const Arguments& arguments) {
  const Parameters given("raise_exception", arguments, {"message"}, 1);
  throw Raised(print(given[0]));
}

Value strftime_now(Host& host, const Arguments& arguments) {
  const Parameters given("strftime_now", arguments, {"format"}, 1);
  return Value::of(format_clock(host.clock(), given.text(0)));
}

Value range(Host& host, const Arguments& arguments) {
  const Parameters given("range", arguments, {"start", "stop", "step"}, 1);
  const std::int64_t from = given.given(1) ? given.integer(0, 0) : 0;
  const std::int64_t to = given.integer(given.given(1) ? 1 : 0, 0), step = given.integer(2, 1);
  if (step == 0) throw Fault("range: the step is 0");
  List items;
  for (std::int64_t i = from; step > 0 ? i < to : i > to;) {
    if (static_cast<std::int64_t>(items.size()) == longest_range)
      throw Fault(fmt::format("range: more than {} numbers", longest_range));
    items.push_back(Value::of(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  host.charge(items.size());
  return Value::list(std::move(items));
}

struct Row {
  const char* name;
  Value (*function)(Host& host, const Arguments& arguments);
};
constexpr std::array<Row, 5> functions = {{{"namespace", make_namespace},
                                           {"dict", make_dict},
                                           {"range", range},
                                           {"raise_exception", raise_exception},
                                           {"strftime_now", strftime_now}}};

}  // namespace

Value global_function(const std::string& name) {
  for (const Row& row : functions)
    if (name == row.name) return Value::function(name, row.function);
  return {};
}

}  // namespace triax::jinja
