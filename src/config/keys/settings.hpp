// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every key of the table with its value in force and the source of that value.
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/config/keys/job_tree.hpp"
#include "src/config/keys/key_table.hpp"
#include "src/config/source/errors.hpp"

namespace triax {

struct Setting {
  nlohmann::json value;
  std::string source;  // "default", "auto", "job.json:12", "--set", "config.json:3"
  Origin origin;       // of the text, for errors
  bool given = false;  // by a file or --set
  Treatment treatment = Treatment::obeyed;
  bool automatic = false;  // it was "auto" and has been resolved
};

class Settings {
 public:
  explicit Settings(const KeyTable& table) : table_(&table) {}

  const KeyTable& table() const { return *table_; }
  void put(const std::string& path, Setting setting) { settings_[path] = std::move(setting); }
  /// Stores a derived value; `source` says how it was derived.
  void resolve(const std::string& path, nlohmann::json value, const std::string& source = "auto");
  /// Replaces "auto" by the key's default.
  void default_for_auto(const std::string& path);
  bool has(const std::string& path) const {
    return settings_.contains(path) && !settings_.at(path).value.is_null();
  }
  bool given(const std::string& path) const {
    return settings_.contains(path) && settings_.at(path).given;
  }
  bool is_auto(const std::string& path) const {
    return has(path) && settings_.at(path).value == "auto";
  }
  /// Paths of all keys that have a setting, in the order of the table.
  std::vector<std::string> paths() const;
  const Setting& at(const std::string& path) const;

  std::int64_t integer(const std::string& path) const;
  double number(const std::string& path) const;
  bool boolean(const std::string& path) const;
  double seconds(const std::string& path) const;  // of a duration
  std::string string(const std::string& path) const;

  /// Marks a key as wrong. It keeps its default, and checks that depend on it are skipped.
  void mark_wrong(const std::string& path) { wrong_.insert(path); }
  bool sound(const std::vector<std::string>& paths) const;
  /// Type of a section whose rows depend on one ("gpt2" for model.*, "WarmupLR" for
  /// scheduler.params.*); empty: none.
  std::string type_of(const std::string& path) const;
  /// Notes a key of a config.json that is not in the table: it has no effect.
  void pass_over(const std::string& path, const Origin& origin) {
    passed_over_.emplace_back(path, origin);
  }
  const std::vector<std::pair<std::string, Origin>>& passed_over() const { return passed_over_; }
  /// Adds a line that the user of a run sees at the start.
  void warn(std::string line) { warnings_.push_back(std::move(line)); }
  /// "<path>: <text>" with the key's origin.
  void warn(const std::string& path, const std::string& text);
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Registers the origin of keys below `prefix` that no source sets: the object that lacks them.
  /// If several prefixes fit, the last one registered counts.
  void place_unsaid(std::string prefix, std::function<Origin(const std::string& path)> place) {
    places_.emplace_back(std::move(prefix), std::move(place));
  }
  /// Adds "<path>: <text>" with the key's origin and marks the key wrong.
  void error(ErrorList& errors, const std::string& path, const std::string& text);
  /// Origin of the key, else of the object that lacks it.
  Origin origin_of(const std::string& path) const;

 private:
  const KeyTable* table_;
  std::map<std::string, Setting> settings_;
  std::vector<std::pair<std::string, std::function<Origin(const std::string& path)>>> places_;
  std::set<std::string> wrong_;
  std::vector<std::pair<std::string, Origin>> passed_over_;
  std::vector<std::string> warnings_;
};

using OriginOf = std::function<Origin(const std::string& path)>;

/// Checks the keys of `node`, which lie below `prefix`, and stores their values. A key that is not
/// in the table is an error if `strict`; else it is noted by pass_over() (a Hugging Face
/// config.json holds many).
void take_values(Settings& settings, const nlohmann::json& node, const std::string& prefix,
                 const OriginOf& origin_of, bool strict, ErrorList& errors);
/// Stores the default of every key that has no value yet: `model` selects the model section, else
/// all other sections.
void take_defaults(Settings& settings, bool model);

/// Reads everything but model.* (see model_section.hpp), whose keys depend on a file that the job
/// names.
Settings read_settings(const KeyTable& table, const JobTree& tree, ErrorList& errors);

}  // namespace triax
