// SPDX-License-Identifier: Apache-2.0
#pragma once
// A job of triax while an Axolotl file is translated into it: values that are read, keys that are
// set, and where each came from.
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/axolotl/yaml_document.hpp"
#include "src/config/source/errors.hpp"

namespace triax {

class AxolotlJob {
 public:
  AxolotlJob(std::string file, YamlDocument document)
      : file_(std::move(file)), document_(std::move(document)) {}

  // Values of the file, by path ("lora_r", "datasets[0].path"). Null counts as absent. A value of
  // another type is an error of the file, and counts as absent.
  const nlohmann::ordered_json* find(const std::string& path) const;
  bool has(const std::string& path) const { return find(path) != nullptr; }
  std::optional<double> number(const std::string& path);  // or a text that is one: "1e-4"
  std::optional<bool> boolean(const std::string& path);
  std::optional<std::string> text(const std::string& path);
  /// Whether the key is there and not false.
  bool is_on(const std::string& path) const;
  /// Whether the value at the path has been looked at by any of these.
  bool was_read(const std::string& path) const { return read_.contains(path); }

  /// Sets a key of the job, by its dotted path. `from`: the path of the value that it came from.
  void set(const std::string& key, nlohmann::ordered_json value, const std::string& from);
  /// Sets a key for a default of Axolotl's that is not triax's.
  void set_default(const std::string& key, nlohmann::ordered_json value, const std::string& why);
  /// Adds to the comment of a key that was set last.
  void remark(const std::string& text);

  /// Adds an error at the line of `path`: "<path>: <problem>".
  void refuse(const std::string& path, const std::string& problem);
  /// The same for files that a run reads and that are not there.
  void lack(const std::string& path, const std::string& problem);
  /// Notes a key without effect.
  void pass_over(const std::string& path, const std::string& why);

  const std::string& file() const { return file_; }
  const YamlDocument& document() const { return document_; }
  int line(const std::string& path) const;

  /// A key of the job as it is set: its value, its origin in words, and its line in the file.
  struct Entry {
    std::string key;
    nlohmann::ordered_json value;
    std::string origin;
    int line = 0;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<std::string>& passed_over() const { return passed_over_; }
  ErrorList& errors() { return errors_; }
  const ErrorList& lacking() const { return lacking_; }

 private:
  void put(Entry entry);
  std::string file_;
  YamlDocument document_;
  mutable std::set<std::string> read_;  // paths given to find()
  std::vector<Entry> entries_;
  std::vector<std::string> passed_over_;
  ErrorList errors_, lacking_;
};

}  // namespace triax
