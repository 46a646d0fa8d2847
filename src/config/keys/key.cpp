// SPDX-License-Identifier: Apache-2.0
#include "src/config/keys/key.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>

#include "src/config/source/duration.hpp"
#include "src/config/source/file_look.hpp"
#include "src/config/source/spelling.hpp"

namespace triax {
namespace {
using nlohmann::json;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_integer(const json& v) {
  return v.is_number_integer() ||
         (v.is_number_float() && std::floor(v.get<double>()) == v.get<double>());
}

// Whole numbers exact in both double and int64.
bool is_whole(const json& v) {
  if (v.is_number_integer())
    return !v.is_number_unsigned() ||
           v.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  return is_integer(v) && std::abs(v.get<double>()) < 9e15;
}

template <class Test>
bool list_of(const json& v, Test test) {
  return v.is_array() && std::ranges::all_of(v, test);
}

bool has_type(KeyType type, const json& v) {
  switch (type) {
    case KeyType::boolean:
      return v.is_boolean();
    case KeyType::integer:
      return is_whole(v);
    case KeyType::number:
      return v.is_number();
    case KeyType::duration:
      return seconds_of(v).has_value();
    case KeyType::string:
    case KeyType::path:
      return v.is_string();
    case KeyType::strings:
    case KeyType::paths:
      return v.is_string() || list_of(v, [](const json& e) { return e.is_string(); });
    case KeyType::sources:
      return v.is_string() ||
             list_of(v, [](const json& e) { return e.is_string() || e.is_object(); });
    case KeyType::numbers:
      return list_of(v, [](const json& e) { return e.is_number(); });
    case KeyType::list:
      return v.is_array();
    case KeyType::object:
      return v.is_object();
    case KeyType::any:
      return true;
  }
  return false;
}

bool in_range(const Allowed& a, double x) {
  return (a.open_least ? x > a.least : x >= a.least) && (a.open_most ? x < a.most : x <= a.most);
}

bool is_choice(const Allowed& a, const std::string& text) {
  if (!a.opening.empty() && text.size() > a.opening.size() && text.starts_with(a.opening))
    return true;
  return std::ranges::any_of(a.choices, [&](const std::string& choice) {
    return a.ignore_case ? lower(choice) == lower(text) : choice == text;
  });
}

bool is_allowed(const Allowed& a, const json& v) {
  if (v.is_array())
    return std::ranges::all_of(v, [&](const json& element) { return is_allowed(a, element); });
  if (v.is_string()) return a.choices.empty() || is_choice(a, v.get<std::string>());
  return !v.is_number() || in_range(a, v.get<double>());
}

bool same(const Key& key, const json& a, const json& b) {
  if (key.allowed.ignore_case && a.is_string() && b.is_string())
    return lower(a.get<std::string>()) == lower(b.get<std::string>());
  return a == b;
}

// Choice that `word` misses by at most a third of its letters; "" if there is none. Words of three
// letters are near to too many.
std::string meant_choice(const Allowed& a, const std::string& word) {
  std::vector<std::string> choices;
  std::ranges::transform(a.choices, std::back_inserter(choices), lower);
  const std::string nearest = nearest_word(lower(word), choices);
  const std::size_t missed = edits(lower(word), nearest);
  if (missed > 0 && (word.size() <= 3 || 3 * missed > word.size())) return {};
  return *std::ranges::find(a.choices, nearest, lower);
}

std::string shown(const json& v) {
  auto text = v.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

// Text in a path that a shell would have expanded: "~", "~user", "$NAME", "${NAME}"; "" if none.
std::string left_to_a_shell(const std::string& path) {
  const auto to_slash = [&](std::size_t at) { return path.substr(at, path.find('/', at) - at); };
  if (path.starts_with('~')) return to_slash(0);
  for (auto at = path.find('$'); at != std::string::npos; at = path.find('$', at + 1))
    if (const char next = at + 1 < path.size() ? path[at + 1] : ' ';
        next == '{' || next == '_' || std::isalpha(static_cast<unsigned char>(next)) != 0)
      return to_slash(at);
  return {};
}

// Refused: names such as "~" or "$SCRATCH", which a shell would have expanded (nobody means a
// directory of that name), and NUL characters, where a system call would end the path.
std::optional<std::string> problem_with_path(const json& v) {
  if (v.is_array()) {
    for (const json& each : v)
      if (auto problem = problem_with_path(each)) return problem;
    return {};
  }
  if (v.is_object()) return problem_with_path(v.value("paths", json()));
  if (!v.is_string()) return {};
  const auto path = v.get<std::string>();
  if (path.empty())
    return "an empty path. Name a file or a directory (\".\" is the working directory)";
  if (path.find('\0') != std::string::npos)
    return shown(v) + ": a path cannot contain a NUL character. Leave it out";
  const std::string word = left_to_a_shell(path);
  if (word.empty() || look_at(path).there) return {};
  return fmt::format("{}: paths are taken literally, and {} is not expanded. Write the path out{}",
                     shown(v), word,
                     word.front() == '~' ? ", or ./" + path + " if that is its name" : "");
}

}  // namespace

bool Key::same_row(const Key& other) const {
  return path == other.path && type == other.type && default_value == other.default_value &&
         unit == other.unit && allowed.text() == other.allowed.text() &&
         treatment == other.treatment && automatic == other.automatic &&
         fraction == other.fraction && meaning == other.meaning;
}

bool Key::takes_auto_too() const {
  return automatic && !is_choice(allowed, "auto");
}

bool Key::is_fraction(const json& value) const {
  return fraction && value.is_number_float() && value.get<double>() > 0.0 &&
         value.get<double>() < 1.0;
}

bool Key::is_word(const std::string& value) const {
  return (automatic && value == "auto") || std::ranges::find(words, value) != words.end();
}

std::string Key::choice_named(const json& value) const {
  if (!value.is_string()) return {};
  const std::string name = lower(value.get<std::string>());
  for (const auto& [other, choice] : other_names)
    if (lower(other) == name) return choice;
  return {};
}

std::string Allowed::text() const {
  if (!choices.empty()) {
    std::string all;
    for (const auto& choice : choices) all += (all.empty() ? "\"" : ", \"") + choice + "\"";
    return opening.empty() ? all : all + ", \"" + opening + "...\"";
  }
  const bool below = std::isfinite(most);
  if (!std::isfinite(least)) return below ? fmt::format("{} {}", open_most ? "<" : "<=", most) : "";
  if (!below) return fmt::format("{} {}", open_least ? ">" : ">=", least);
  return fmt::format("{} {} x {} {}", least, open_least ? "<" : "<=", open_most ? "<" : "<=", most);
}

std::optional<double> seconds_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  return value.is_string() ? parse_duration(value.get<std::string>()) : std::nullopt;
}

bool holds_paths(KeyType type) {
  return type == KeyType::path || type == KeyType::paths || type == KeyType::sources;
}

std::string type_name(KeyType type) {
  switch (type) {
    case KeyType::boolean:
      return "boolean";
    case KeyType::integer:
      return "integer";
    case KeyType::number:
      return "number";
    case KeyType::duration:
      return "duration (\"30s\", \"10m\", \"2h\", or seconds)";
    case KeyType::string:
      return "string";
    case KeyType::strings:
      return "string or list of strings";
    case KeyType::path:
      return "path";
    case KeyType::paths:
      return "path or list of paths";
    case KeyType::sources:
      return "path, list of paths, or list of {paths, weight}";
    case KeyType::numbers:
      return "list of numbers";
    case KeyType::list:
      return "list";
    case KeyType::object:
      return "object";
    case KeyType::any:
      return "any";
  }
  return "?";
}

std::string treatment_name(Treatment treatment) {
  switch (treatment) {
    case Treatment::obeyed:
      return "obeyed";
    case Treatment::accepted:
      return "accepted, without meaning here";
    case Treatment::refused:
      return "refused";
  }
  return "?";
}

std::optional<std::string> problem_with(const Key& key, const json& value) {
  const bool word = value.is_string() && key.is_word(value.get<std::string>());
  if (value.is_null() || word || value == key.default_value || !key.choice_named(value).empty() ||
      key.is_fraction(value))
    return {};
  if (key.treatment == Treatment::refused && has_type(key.type, value)) {
    const bool makes_the_model = key.path.starts_with("model.");  // another value, another model
    return shown(value) + " is refused (" + key.reason + ")" +
           (makes_the_model ? ". Use a model that does without it" : ". Leave it out");
  }
  if (key.type == KeyType::integer && is_integer(value) && !is_whole(value))
    return fmt::format("{} is not allowed (allowed: {}{}below {})", shown(value),
                       key.allowed.text(), key.allowed.text().empty() ? "" : ", ",
                       value.is_number_float() ? "9e15" : "2^63");
  if (!has_type(key.type, value))
    return fmt::format("expected {}{}{}{}, got {}", type_name(key.type),
                       key.type == KeyType::numbers && !key.words.empty()
                           ? fmt::format(" or \"{}\"", fmt::join(key.words, "\", \""))
                           : "",
                       key.fraction ? ", a fraction of run.steps below 1" : "",
                       key.automatic ? " or \"auto\"" : "", shown(value));
  const auto is_value = [&](const json& v) { return same(key, v, value); };
  if (std::ranges::any_of(key.not_built, is_value))
    return fmt::format("{} is not built yet{}. Use {}", shown(value),
                       key.reason.empty() ? "" : " (" + key.reason + ")", key.allowed.text());
  const json& in_unit = key.type == KeyType::duration ? json(*seconds_of(value)) : value;
  if (!is_allowed(key.allowed, in_unit)) {
    const std::string meant =
        value.is_string() ? meant_choice(key.allowed, value.get<std::string>()) : "";
    return fmt::format("{} is not allowed (allowed: {}{}{})", shown(value), key.allowed.text(),
                       key.takes_auto_too() ? ", or \"auto\"" : "",
                       meant.empty() ? "" : "; nearest: \"" + meant + "\"");
  }
  if (key.may_be_empty && value == json("")) return {};
  if (holds_paths(key.type)) return problem_with_path(value);
  return {};
}

}  // namespace triax
