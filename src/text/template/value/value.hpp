// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values of chat templates: Python's types as far as templates see them. All but objects are
// immutable, as in the sandbox that transformers renders in; copies share their content.
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "src/text/template/value/fault.hpp"

namespace triax::jinja {

class Dict;
class Host;
class Object;
class Value;
struct Arguments;
struct Function;
using List = std::vector<Value>;

struct Undefined {
  std::shared_ptr<const std::string> why;  // "'x' is undefined"; null: no more is known
};
struct None {};
struct Text {
  std::shared_ptr<const std::string> text;  // UTF-8
  bool safe = false;                        // filter `safe`: + escapes the other text
};
struct Sequence {
  std::shared_ptr<const List> items;
  bool tuple = false;
  const char* view = nullptr;  // "dict_keys": how str() calls it; null: a list or tuple
};
/// Items that are given once: the result of map, select and their like.
struct Iterator {
  struct State {
    List items;
    std::size_t next = 0;
  };
  std::shared_ptr<State> state;
};

class Value {
 public:
  enum class Kind {
    undefined,
    none,
    boolean,
    integer,
    number,
    text,
    sequence,
    dict,
    iterator,
    function,
    object
  };
  using Data = std::variant<Undefined, None, bool, std::int64_t, double, Text, Sequence,
                            std::shared_ptr<const Dict>, Iterator, std::shared_ptr<const Function>,
                            std::shared_ptr<Object>>;

  Value() = default;
  Value(const Value&) = default;
  Value(Value&&) noexcept = default;
  Value& operator=(const Value&) = default;
  Value& operator=(Value&&) noexcept = default;
  /// Takes a long chain of values inside of values apart in a loop, not by recursion.
  ~Value();
  Value(Data data) : data_(std::move(data)) {}  // NOLINT: every type of Data is a value
  static Value undefined(std::string why);
  static Value none() { return {Data{None{}}}; }
  static Value of(bool value) { return {Data{value}}; }
  static Value of(std::int64_t value) { return {Data{value}}; }
  static Value of(double value) { return {Data{value}}; }
  static Value of(std::string text, bool safe = false);
  static Value of(Dict dict);
  static Value list(List items);
  static Value tuple(List items);
  static Value view(const char* name, List items);  // of a dict
  static Value iterator(List items);
  static Value function(std::string name, std::function<Value(Host&, const Arguments&)> body);

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is(Kind kind) const { return this->kind() == kind; }
  bool is_undefined() const { return is(Kind::undefined); }
  bool is_text() const { return is(Kind::text); }
  bool is_safe() const { return is_text() && std::get<Text>(data_).safe; }
  bool is_tuple() const { return is(Kind::sequence) && std::get<Sequence>(data_).tuple; }
  bool is_list() const { return is(Kind::sequence) && !is_tuple() && view_name() == nullptr; }
  const char* view_name() const {
    return is(Kind::sequence) ? std::get<Sequence>(data_).view : nullptr;
  }
  /// Booleans are numbers, as in Python.
  bool is_integral() const { return is(Kind::boolean) || is(Kind::integer); }
  bool is_numeric() const { return is_integral() || is(Kind::number); }

  const Data& data() const { return data_; }
  // Content of a kind that the caller has asked for.
  const std::string& text() const { return *std::get<Text>(data_).text; }
  const List& items() const { return *std::get<Sequence>(data_).items; }
  const Dict& dict() const { return *std::get<std::shared_ptr<const Dict>>(data_); }
  Iterator::State& iterator() const { return *std::get<Iterator>(data_).state; }
  const std::shared_ptr<Object>& object() const { return std::get<std::shared_ptr<Object>>(data_); }
  const std::shared_ptr<const Function>& function() const {
    return std::get<std::shared_ptr<const Function>>(data_);
  }
  std::int64_t integer() const;  // of an integral value
  double number() const;         // of a numeric value

  /// bool() of Python.
  bool truth() const;
  /// "a list", "None", for messages.
  std::string type_name() const;
  /// Reason of an undefined value: "'x' is undefined".
  std::string undefined_reason() const;

 private:
  Data data_;
};

/// A dict in the order of its insertions.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;
  const std::vector<Entry>& entries() const { return entries_; }
  std::size_t size() const { return entries_.size(); }
  /// Null: there is no such key. Fault for a key that Python cannot hash.
  const Value* find(const Value& key) const;
  const Value* find(const std::string& key) const;
  void set(Value key, Value value);
  void set(const std::string& key, Value value);

 private:
  std::vector<Entry> entries_;
};

struct Arguments {
  List positional;
  std::vector<std::pair<std::string, Value>> named;
};

struct Function {
  std::string name;
  std::function<Value(Host&, const Arguments&)> body;
};

/// Something with attributes: a namespace, the variable `loop`.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string type_name() const = 0;
  /// Undefined for an unknown name.
  virtual Value attribute(const std::string& name) = 0;
  /// Fault unless attributes can be set.
  virtual void set_attribute(const std::string& name, Value value);
};

/// A value of the job's or request's JSON. Fault for an integer beyond 64 bits, and for one nested
/// deeper than Nesting::most.
Value from_json(const nlohmann::ordered_json& json);

/// Items that a loop over the value gives: keys of a dict, characters of a text. Uses an iterator
/// up. Fault where it is no iterable.
List items_of(const Value& value);

}  // namespace triax::jinja
