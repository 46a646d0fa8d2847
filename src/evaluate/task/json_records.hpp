// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON objects of a file, one per line, with typed fields and errors that name file and line.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/documents/input_files.hpp"
#include "io/documents/line_reader.hpp"

namespace triax {

/// An object and where it stands.
class JsonRecord {
 public:
  JsonRecord() = default;
  JsonRecord(nlohmann::json object, std::string where)
      : object_(std::move(object)), where_(std::move(where)) {}

  const std::string& where() const { return where_; }  // "file:line"
  bool has(const std::string& key) const {
    return object_.contains(key) && !object_[key].is_null();
  }
  // UsageError where the field is absent or has another type.
  std::string text(const std::string& key) const;
  std::int64_t integer(const std::string& key) const;
  /// A list of strings; `or_one`: a single string is a list of one.
  std::vector<std::string> texts(const std::string& key, bool or_one) const;
  /// UsageError about a field.
  [[noreturn]] void refuse(const std::string& key, const std::string& why) const;

 private:
  const nlohmann::json& value(const std::string& key) const;

  nlohmann::json object_;
  std::string where_;
};

class JsonRecords {
 public:
  /// The file may be compressed.
  explicit JsonRecords(const InputFile& file);
  /// The next object, false at the end; blank lines are passed over. UsageError for a line that is
  /// no JSON object. Error where the file is truncated or changes.
  bool next(JsonRecord& record);
  /// Share of the file that is read.
  double passed() const;

 private:
  InputFile file_;
  LineReader lines_;
};

}  // namespace triax
