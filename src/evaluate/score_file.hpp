// SPDX-License-Identifier: Apache-2.0
#pragma once
// The scores of an evaluation as JSON lines: a header, then one line per item. A killed evaluation
// goes on behind its last whole line.
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/files/file_lock.hpp"

namespace triax {

class ScoreFile {
 public:
  /// Opens or creates `path`, and locks it. `header` has all that the scores depend on; its first
  /// key is "evaluation". Where the file has another header, it is begun anew. UsageError for a
  /// file of anything else; Error where it is not writable or another evaluation writes it.
  ScoreFile(std::string path, const nlohmann::ordered_json& header);
  ~ScoreFile();
  ScoreFile(const ScoreFile&) = delete;
  ScoreFile& operator=(const ScoreFile&) = delete;

  /// Calls `visit` with each score of an earlier evaluation, in order.
  void read(const std::function<void(const nlohmann::ordered_json&)>& visit) const;
  /// Why scores that the file had are not used; empty: they are, or there are none.
  const std::string& begun_anew() const { return begun_anew_; }
  /// Appends lines and waits until they are on disk.
  void append(const std::vector<nlohmann::ordered_json>& scores);

 private:
  void take_over(const std::string& header);
  void refuse_other_file() const;
  void write(const std::string& text);

  std::string path_;
  FileLock lock_;
  int fd_ = -1;
  std::int64_t bytes_ = 0;  // of whole lines
  std::string begun_anew_;
};

}  // namespace triax
