// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "src/config/keys/settings.hpp"

namespace triax {
namespace {
using nlohmann::json;

// The value as the table spells it: "adamw" -> "AdamW", 5e8 -> 500000000.
json canonical(const Key& key, const json& value) {
  if (key.type == KeyType::integer && value.is_number_float() && !key.is_fraction(value))
    return static_cast<std::int64_t>(value.get<double>());
  if (const std::string choice = key.choice_named(value); !choice.empty()) return choice;
  if (!key.allowed.ignore_case || !value.is_string()) return value;
  for (const auto& choice : key.allowed.choices) {
    auto one = key;
    one.allowed.choices = {choice};
    if (!problem_with(one, value)) return choice;
  }
  return value;
}

struct Reader {
  Settings& settings;
  const OriginOf& origin_of;
  bool strict;
  ErrorList& errors;

  void fail(const std::string& path, const std::string& text) const {
    errors.add(origin_of(path), path + ": " + text);
    settings.mark_wrong(path);
  }

  void take(const Key& key, const std::string& path, const json& value) const {
    if (value.is_null()) return;  // unset
    if (const auto problem = problem_with(key, value)) return fail(path, *problem);
    const auto origin = origin_of(path);
    settings.put(path, {canonical(key, value), origin.text(), origin, strict, key.treatment});
  }

  bool type_is_known(const std::string& path) const {
    return settings.sound({discriminator(path)});
  }

  // Checks a key below a type that is itself wrong: a key that no type has, or a value that no type
  // takes, is an error.
  void judge(const std::string& path, const json& value) const {
    const auto rows = settings.table().rows(path);
    if (rows.empty()) return unknown(path);
    const auto takes = [&](const Key* key) {
      return key->treatment == Treatment::refused || !problem_with(*key, value);
    };
    if (std::ranges::none_of(rows, takes)) fail(path, *problem_with(*rows.front(), value));
  }

  std::string other_types(const std::string& path) const {
    std::string types;
    for (const auto& key : settings.table().keys())
      if (key.path == path)
        for (const auto& type : key.scope) types += (types.empty() ? "" : ", ") + type;
    return types;
  }

  // Hint for a key whose section type is set by another source.
  std::string way_out(const std::string& path, const std::string& type_key) const {
    const Origin type = origin_of(type_key);
    if (origin_of(path).file == type.file) return {};
    return ", which " + type.text() +
           " sets. Objects are merged key by key: set this key to null there to remove it";
  }

  void unknown(const std::string& path) const {
    if (!strict) return settings.pass_over(path, origin_of(path));
    const auto& table = settings.table();
    const auto type = settings.type_of(path), type_key = discriminator(path);
    if (table.find(path) == nullptr)
      fail(path, "unknown key (nearest: " + table.nearest(path, type) + ")");
    else if (type.empty())
      fail(path, "unused without " + type_key + ". Set " + type_key + " or leave this out");
    else
      fail(path, "a key of " + other_types(path) + ", not of " + type_key + " \"" + type + "\"" +
                     way_out(path, type_key));
  }

  void walk(const json& node, const std::string& prefix) const {
    const auto& table = settings.table();
    for (const auto& [name, value] : node.items()) {
      const auto path = prefix.empty() ? name : prefix + "." + name;
      if (path == "model" || path == "optimizer.type" || path == "scheduler.type")
        continue;  // read separately
      if (name.find('.') != std::string::npos) {
        if (strict)
          fail(path, "unknown key. Write nested objects, {\"a\": {\"b\": ...}}, for a.b");
        else
          unknown(path);
      } else if (table.is_section(path)) {
        section(path, value);
      } else if (!type_is_known(path)) {
        judge(path, value);
      } else if (const auto* key = table.find(path, settings.type_of(path))) {
        take(*key, path, value);
      } else if (!value.is_null() || (strict && table.find(path) == nullptr)) {
        unknown(path);
      }
    }
  }

  void section(const std::string& path, const json& value) const {
    if (value.is_null()) return;
    if (value.is_object())
      walk(value, path);
    else if (value != false)  // "zero_optimization": false
      fail(path, "expected an object, got " + value.dump());
  }
};

const json* find(const json& root, const std::string& path) {
  const json* node = &root;
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find('.', begin), path.size());
    if (!node->is_object()) return nullptr;
    const auto next = node->find(path.substr(begin, end - begin));
    if (next == node->end()) return nullptr;
    node = &*next;
    begin = end + 1;
  }
  return node;
}

}  // namespace

void take_values(Settings& settings, const json& node, const std::string& prefix,
                 const OriginOf& origin_of, bool strict, ErrorList& errors) {
  Reader{settings, origin_of, strict, errors}.walk(node, prefix);
}

void take_defaults(Settings& settings, bool model) {
  for (const auto& key : settings.table().keys()) {
    if (key.path.starts_with("model.") != model || key.path.ends_with(".*") ||
        settings.has(key.path))
      continue;
    if (settings.table().find(key.path, settings.type_of(key.path)) != &key) continue;
    settings.put(key.path, {key.default_value, "default", {}, false, key.treatment});
  }
}

Settings read_settings(const KeyTable& table, const JobTree& tree, ErrorList& errors) {
  Settings settings(table);
  for (const std::string& note : tree.notes) settings.warn(note);
  settings.place_unsaid("", [tree](const std::string& path) { return tree.origin(path); });
  const OriginOf origin_of = [&](const std::string& path) { return tree.origin(path); };
  const Reader reader{settings, origin_of, true, errors};
  for (const std::string path :
       {"optimizer.type", "scheduler.type"}) {  // these types select the other keys
    if (const auto* value = find(tree.root, path)) reader.take(*table.find(path), path, *value);
    if (!settings.has(path) && settings.sound({path}))
      settings.put(path,
                   {table.find(path)->default_value, "default", {}, false, Treatment::obeyed});
  }
  reader.walk(tree.root, {});
  take_defaults(settings, false);
  return settings;
}

}  // namespace triax
