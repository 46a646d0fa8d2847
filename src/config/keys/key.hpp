// SPDX-License-Identifier: Apache-2.0
#pragma once
// A row of the key table, from which validation, defaults, `triax config` and `--reference` are
// derived.
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace triax {

enum class KeyType : std::uint8_t {
  boolean,
  integer,  // 5e8 is an integer too, as in DeepSpeed's files
  number,
  duration,  // seconds, or a text such as "10m" (parse_duration)
  string,
  strings,  // a string or a list of strings
  path,     // of a file or directory, literal: a ~ or $NAME that a shell would expand is refused
  paths,    // a path or pattern, or a list of them
  sources,  // paths, or a list of objects {"paths": paths, "weight": ...}
  numbers,  // a list of numbers
  list,
  object,  // taken as a whole: keys inside are not checked
  any
};

enum class Treatment : std::uint8_t {
  obeyed,
  accepted,  // DeepSpeed's or Hugging Face's, without effect here; named in one startup line
  refused    // known, but any value other than the default is an error with the reason
};

/// Allowed values of a key: a choice of strings, or an interval of numbers.
struct Allowed {
  std::vector<std::string> choices;
  bool ignore_case = false;
  std::string opening;  // of texts that are allowed besides the choices; empty: none
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool open_least = false, open_most = false;  // the bound itself is excluded
  /// Text for the reference: `"a", "b"`, `>= 1`, `0 <= x < 1`; empty: anything.
  std::string text() const;
};
Allowed one_of(std::vector<std::string> choices);
Allowed one_of_or_opening(std::vector<std::string> choices, std::string opening);
Allowed one_of_any_case(std::vector<std::string> choices);
Allowed at_least(double least);
Allowed above(double bound);
Allowed from_to(double least, double most);
Allowed from_below(double least, double bound);
inline Allowed anything() {
  return {};
}

struct Key {
  std::string path;
  KeyType type = KeyType::any;
  nlohmann::json default_value;  // the default; null: none, or the feature off
  std::string unit;
  Allowed allowed;
  std::string meaning;
  Treatment treatment = Treatment::obeyed;
  std::string reason;  // why a value other than the default is refused
  /// Types of the section (model.architecture, optimizer.type, scheduler.type) that have this key;
  /// empty: all.
  std::vector<std::string> scope;
  bool automatic = false;                 // "auto" is a value
  bool fraction = false;                  // a value below 1 is a fraction of run.steps
  bool may_be_empty = false;              // a path: "" means none
  bool may_be_null = false;               // null is a value too: it replaces the default
  std::vector<std::string> words;         // texts that stand for no path or number, besides "auto"
  std::vector<nlohmann::json> not_built;  // values not implemented: refused by name
  /// Other names of choices, in any case, each with the choice that it means.
  std::vector<std::pair<std::string, std::string>> other_names = {};

  /// Whether the rows differ in nothing but their scope.
  bool same_row(const Key& other) const;
  bool takes_auto_too() const;  // "auto" is a value besides those in `allowed`
  /// Whether `value` is a fraction of run.steps, which stands for a number of steps.
  bool is_fraction(const nlohmann::json& value) const;
  /// Whether the value is one of `words`, or "auto" where that is a value.
  bool is_word(const std::string& value) const;
  /// The choice that `value` is another name of; empty: none.
  std::string choice_named(const nlohmann::json& value) const;
  Key&& in(std::string name) &&;                  // unit
  Key&& only(std::vector<std::string> types) &&;  // scope
  Key&& or_auto() &&;
  Key&& or_fraction() &&;
  Key&& or_empty() &&;
  Key&& or_null() &&;
  Key&& or_words(std::vector<std::string> values) &&;
  Key&& without(std::vector<nlohmann::json> values) &&;                       // not_built
  Key&& or_names(std::vector<std::pair<std::string, std::string>> names) &&;  // other_names
};

Key obeyed(std::string path, KeyType type, nlohmann::json default_value, Allowed allowed,
           std::string meaning);
Key accepted(std::string path, KeyType type, nlohmann::json default_value, std::string meaning);
Key refused(std::string path, KeyType type, nlohmann::json default_value, std::string meaning,
            std::string reason);

/// Adds a row for one type of its section (see Key::scope); types that say the same share one row.
void add_for_type(std::vector<Key>& keys, Key key, const char* type);

/// Seconds of a value of type `duration`; nullopt if it is not a duration.
std::optional<double> seconds_of(const nlohmann::json& value);

/// Whether values of the type hold paths: path, paths and sources.
bool holds_paths(KeyType type);
std::string type_name(KeyType type);
std::string treatment_name(Treatment treatment);
/// Problem of `value` for `key`, phrased to follow "<key>: "; nullopt if it is valid. null is
/// always valid: it leaves the key unset.
std::optional<std::string> problem_with(const Key& key, const nlohmann::json& value);

}  // namespace triax
