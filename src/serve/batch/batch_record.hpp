// SPDX-License-Identifier: Apache-2.0
#pragma once
// batch.json: of what the answers in a directory are.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace triax {

class BatchRecord {
 public:
  /// Reads DIRECTORY/batch.json, if there is one.
  explicit BatchRecord(std::string directory);

  bool exists() const { return !record_.is_null(); }
  /// Begins a batch with these facts, or goes on with it. UsageError if the directory has answers
  /// to other facts; it names the first that differs.
  void begin(const nlohmann::ordered_json& facts);
  /// Writes that every line has its answer.
  void complete();

  bool is_complete() const { return exists() && record_.value("complete", false); }
  std::int64_t created() const { return record_.at("created"); }  // seconds since 1970
  /// A fact as text; empty: it is not there.
  std::string text(const std::string& fact) const;

 private:
  void write() const;

  std::string directory_;
  nlohmann::ordered_json record_;
};

/// Text that differs for other files of a model or an input, without reading them whole.
std::string files_fingerprint(const std::string& path);

}  // namespace triax
