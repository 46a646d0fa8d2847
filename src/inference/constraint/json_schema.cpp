// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/json_schema.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "kernels/base/check.hpp"
#include "src/inference/constraint/json_rules.hpp"
#include "src/inference/constraint/regex.hpp"

namespace triax {
namespace {

using json = nlohmann::ordered_json;
using Node = Grammar::Node;
using Path = const std::string&;

constexpr int most_levels = 64;
constexpr std::int64_t most_counted = 10'000;

// Keys that say nothing about which values are valid.
constexpr std::array notes = {"title",    "description", "default",   "examples", "$schema",
                              "$id",      "$comment",    "$defs",     "strict",   "definitions",
                              "readOnly", "writeOnly",   "deprecated"};

constexpr std::array formats = {
    std::pair{"date", R"(^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$)"},
    std::pair{"time",
              R"(^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$)"},
    std::pair{
        "date-time",
        R"(^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$)"},
    std::pair{"uuid", "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
};

[[noreturn]] void refuse(Path path, const std::string& what) {
  throw UsageError(fmt::format("the JSON schema: {} {}", path.empty() ? "/" : path, what), {},
                   "See jobs/guides/serve.md for what is built");
}

class Builder {
 public:
  Builder(const json& root, Grammar& grammar) : root_(root), grammar_(grammar), rules_(grammar) {}

  Node value(const json& schema, Path path, Node next) {
    const Level level(level_, path);
    if (schema == true || (schema.is_object() && only_notes(schema))) return rules_.value(next);
    if (!schema.is_object() || schema.empty()) refuse(path, "is no schema that has a value");
    for (const Form& form : forms())
      if (const auto found = schema.find(form.key); found != schema.end()) {
        check_keys(schema, path, form);
        return (this->*form.build)(schema, path, next);
      }
    refuse(path, "has no type");
  }

 private:
  // A schema's depth, bounded: $ref may go round without reading a byte.
  class Level {
   public:
    Level(int& level, Path path) : level_(level) {
      if (++level_ > most_levels) refuse(path, "has too many levels");
    }
    ~Level() { --level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    int& level_;
  };
  // The first key that a schema has decides what it is; with which others.
  struct Form {
    const char* key;
    std::vector<std::string> with;
    Node (Builder::*build)(const json& schema, Path path, Node next);
  };
  static const std::vector<Form>& forms() {
    static const std::vector<Form> all = {
        {"$ref", {}, &Builder::reference},
        {"const", {"type"}, &Builder::constant},
        {"enum", {"type"}, &Builder::enumeration},
        {"anyOf", {}, &Builder::any_of},
        {"allOf", {}, &Builder::all_of},
        {"type",
         {"properties", "required", "additionalProperties", "items", "minItems", "maxItems",
          "minLength", "maxLength", "pattern", "format"},
         &Builder::typed},
        {"properties", {"required", "additionalProperties"}, &Builder::object},
        {"items", {"minItems", "maxItems"}, &Builder::array},
    };
    return all;
  }

  static bool only_notes(const json& schema) {
    return std::ranges::all_of(schema.items(),
                               [](const auto& item) { return is_note(item.key()); });
  }
  static bool is_note(const std::string& key) {
    return std::ranges::find(notes, key) != notes.end();
  }
  static void check_keys(const json& schema, Path path, const Form& form) {
    for (const auto& item : schema.items()) {
      const std::string& key = item.key();
      if (key != form.key && !is_note(key) && std::ranges::find(form.with, key) == form.with.end())
        refuse(path, "has \"" + key + "\", which is not built here");
    }
  }

  Node reference(const json& schema, Path path, Node next) {
    const json& name = schema["$ref"];
    if (!name.is_string() || !name.get_ref<const std::string&>().starts_with('#'))
      refuse(path, "has a $ref that is not within the schema");
    const std::string pointer = name.get<std::string>().substr(1);
    const auto known = references_.find(pointer);
    if (known != references_.end()) return grammar_.call(known->second, next);
    const json* target = nullptr;
    try {
      target = &root_.at(json::json_pointer(pointer));
    } catch (const json::exception&) {
      refuse(path, "has a $ref to " + pointer + ", which is not there");
    }
    const Grammar::Rule rule = references_[pointer] = grammar_.new_rule();
    grammar_.define(rule, value(*target, pointer, Grammar::end));
    return grammar_.call(rule, next);
  }

  Node literal(const json& value, Node next) {
    return grammar_.text(value.dump(-1, ' ', false, json::error_handler_t::replace), next);
  }
  Node constant(const json& schema, Path, Node next) { return literal(schema["const"], next); }

  Node enumeration(const json& schema, Path path, Node next) {
    const json& values = schema["enum"];
    if (!values.is_array() || values.empty()) refuse(path, "has an enum without values");
    std::vector<Node> nodes;
    for (const json& one : values) nodes.push_back(literal(one, next));
    return grammar_.any_of(nodes);
  }

  Node any_of(const json& schema, Path path, Node next) {
    const json& all = schema["anyOf"];
    if (!all.is_array() || all.empty()) refuse(path, "has an anyOf without schemas");
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < all.size(); ++i)
      nodes.push_back(value(all[i], fmt::format("{}/anyOf/{}", path, i), next));
    return grammar_.any_of(nodes);
  }

  Node all_of(const json& schema, Path path, Node next) {
    const json& all = schema["allOf"];
    if (!all.is_array() || all.size() != 1) refuse(path, "has an allOf of more than one schema");
    return value(all[0], path + "/allOf/0", next);
  }

  Node typed(const json& schema, Path path, Node next) {
    const json& type = schema["type"];
    const json types = type.is_array() ? type : json::array({type});
    std::vector<Node> nodes;
    for (const json& one : types) {
      if (!one.is_string()) refuse(path, "has a type that is no name");
      nodes.push_back(of_type(one.get<std::string>(), schema, path, next));
    }
    if (nodes.empty()) refuse(path, "has no type");
    return grammar_.any_of(nodes);
  }

  Node of_type(const std::string& type, const json& schema, Path path, Node next) {
    if (type == "object") return object(schema, path, next);
    if (type == "array") return array(schema, path, next);
    if (type == "string") return string(schema, path, next);
    if (type == "integer") return rules_.integer(next);
    if (type == "number") return rules_.number(next);
    if (type == "boolean") return rules_.boolean(next);
    if (type == "null") return rules_.null(next);
    refuse(path, "has the type \"" + type + "\"");
  }

  std::int64_t count(const json& schema, const char* key, std::int64_t otherwise, Path path) {
    const auto found = schema.find(key);
    if (found == schema.end()) return otherwise;
    if (!found->is_number_integer() || *found < 0 || *found > most_counted)
      refuse(path, fmt::format("has a {} that is no number from 0 to {}", key, most_counted));
    return found->get<std::int64_t>();
  }

  Node string(const json& schema, Path path, Node next) {
    const bool counted = schema.contains("minLength") || schema.contains("maxLength");
    const Node close = grammar_.text("\"", next);
    for (const char* key : {"pattern", "format"}) {
      const auto found = schema.find(key);
      if (found == schema.end()) continue;
      if (!found->is_string()) refuse(path, fmt::format("has a {} that is no text", key));
      if (counted || (key == std::string("pattern") && schema.contains("format")))
        refuse(path, fmt::format("has a {} beside a length or a format, which is not built", key));
      std::string text = found->get<std::string>();
      if (key == std::string("format")) text = pattern_of(text, path);
      const Regex regex(text);
      return grammar_.text("\"", regex.node(grammar_, close, true, JsonRules::spelled));
    }
    if (!counted) return rules_.string(next);
    const std::int64_t least = count(schema, "minLength", 0, path);
    const std::int64_t most = count(schema, "maxLength", -1, path);
    if (most >= 0 && most < least) refuse(path, "has a maxLength below its minLength");
    return grammar_.text("\"", grammar_.repeat(least, most, close, [&](Node after) {
      return rules_.character(after);
    }));
  }

  static std::string pattern_of(const std::string& format, Path path) {
    for (const auto& [name, pattern] : formats)
      if (format == name) return pattern;
    refuse(path, "has the format \"" + format + "\", which is not built");
  }

  // Behind the bracket: items with commas between them.
  Node array(const json& schema, Path path, Node next) {
    const std::int64_t least = count(schema, "minItems", 0, path);
    const std::int64_t most = count(schema, "maxItems", -1, path);
    if (most >= 0 && most < least) refuse(path, "has a maxItems below its minItems");
    const auto given = schema.find("items");
    const Grammar::Rule item = grammar_.new_rule();
    grammar_.define(item, given == schema.end() ? rules_.value(Grammar::end)
                                                : value(*given, path + "/items", Grammar::end));
    const Node close = grammar_.text("]", next), empty = rules_.space(close);
    if (most == 0) return grammar_.text("[", empty);
    const Node more = grammar_.repeat(
        std::max<std::int64_t>(least - 1, 0), most < 0 ? -1 : most - 1, empty,
        [&](Node after) { return grammar_.text(",", rules_.space(grammar_.call(item, after))); });
    std::vector<Node> nodes = {rules_.space(grammar_.call(item, more))};
    if (least == 0) nodes.push_back(empty);
    return grammar_.text("[", grammar_.any_of(nodes));
  }

  std::vector<std::string> required(const json& schema, Path path) {
    std::vector<std::string> names;
    const auto given = schema.find("required");
    if (given == schema.end()) return names;
    if (!given->is_array()) refuse(path, "has a required that is no list");
    const json properties = schema.value("properties", json::object());
    for (const json& one : *given) {
      if (!one.is_string() || !properties.contains(one.get<std::string>()))
        refuse(path, "requires " + one.dump() + ", which is not among its properties");
      names.push_back(one.get<std::string>());
    }
    return names;
  }

  Node member(const std::string& name, const json& schema, Path path, Node next) {
    return literal(name, rules_.colon(value(schema, path, next)));
  }

  Node object(const json& schema, Path path, Node next) {
    const auto names = required(schema, path);
    const json properties = schema.value("properties", json::object());
    if (!properties.is_object()) refuse(path, "has properties that are no object");
    if (properties.empty()) return dictionary(schema, path, next);
    const Node close = rules_.space(grammar_.text("}", next));
    // From the last property to the first: what may follow where none has come, and where one has.
    Node first = close, further = close;
    std::vector<std::string> keys;
    for (const auto& item : properties.items()) keys.push_back(item.key());
    for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
      const Grammar::Rule rule = grammar_.new_rule();
      grammar_.define(rule,
                      member(*key, properties[*key], path + "/properties/" + *key, Grammar::end));
      const Node here = grammar_.call(rule, further);
      const bool needed = std::ranges::find(names, *key) != names.end();
      const Node begin[] = {rules_.space(here), first};
      const Node on[] = {grammar_.text(",", rules_.space(here)), further};
      first = needed ? begin[0] : grammar_.any_of(begin);
      further = needed ? on[0] : grammar_.any_of(on);
    }
    return grammar_.text("{", first);
  }

  // An object of any keys.
  Node dictionary(const json& schema, Path path, Node next) {
    const auto given = schema.find("additionalProperties");
    const Node close = rules_.space(grammar_.text("}", next));
    if (given == schema.end() || *given == true) return rules_.object(next);
    if (*given == false) return grammar_.text("{", close);
    const Grammar::Rule rule = grammar_.new_rule();
    grammar_.define(
        rule,
        rules_.string(rules_.colon(value(*given, path + "/additionalProperties", Grammar::end))));
    const Node more = grammar_.repeat(0, -1, close, [&](Node after) {
      return grammar_.text(",", rules_.space(grammar_.call(rule, after)));
    });
    const Node nodes[] = {rules_.space(grammar_.call(rule, more)), close};
    return grammar_.text("{", grammar_.any_of(nodes));
  }

  const json& root_;
  Grammar& grammar_;
  JsonRules rules_;
  std::map<std::string, Grammar::Rule> references_;
  int level_ = 0;
};

}  // namespace

Node schema_node(const json& schema, Grammar& grammar, Node next) {
  return Builder(schema, grammar).value(schema, "", next);
}

}  // namespace triax
