// SPDX-License-Identifier: Apache-2.0
#pragma once
// The answers of a batch on disk: shards of JSON lines, and an index of what is answered.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/append_file.hpp"

namespace triax {

/// Lines of the input that a directory has answers to.
struct AnswerCounts {
  std::int64_t answers = 0, errors = 0;  // errors: of these, lines that could not be answered
};

/// answers-00000.jsonl, answers-00001.jsonl, ... and errors.jsonl, in the order in which answers
/// came. index.tsv has a row for each: line of the input, file, offset and bytes.
class AnswerFiles {
 public:
  static constexpr std::int64_t usual_shard_bytes = std::int64_t{256} << 20;

  /// Opens the files of an existing directory. Answers that a killed process wrote and did not
  /// enter into the index are entered; the torn rest of one is cut off. Error where a file has less
  /// than the index says. One process at a time. A shard that has `shard_bytes` is followed by
  /// another.
  explicit AnswerFiles(std::string directory, std::int64_t shard_bytes = usual_shard_bytes);

  /// Whether line `number` of the input (from 1) has its answer.
  bool has(std::int64_t number) const;
  const AnswerCounts& counts() const { return counts_; }
  /// Writes the answer of a line: JSON without a line feed that holds "line": number. A process
  /// that is killed afterwards has it; a machine that stops does after commit().
  void add(std::int64_t number, bool error, std::string_view json);
  /// Waits until all answers and their rows of the index are on the disk.
  void commit();

 private:
  struct Row {
    std::int64_t number = 0;
    std::string file;
    std::int64_t offset = 0, bytes = 0;
  };
  static Row row_of(std::string_view text, const std::string& path);
  void read_index();
  void recover(const std::string& file);
  void note(const Row& row);
  AppendFile& file_for(bool error);
  std::string path(const std::string& file) const { return directory_ + "/" + file; }

  std::string directory_;
  std::int64_t shard_bytes_;
  AnswerCounts counts_;
  std::vector<bool> answered_;                // by number
  std::map<std::string, std::int64_t> ends_;  // of files, as the index knows them
  std::unique_ptr<AppendFile> index_, answers_, errors_;
  std::string rows_;       // of answers that are not in the index yet
  std::string shard_;      // name of the one that grows
  std::int64_t next_ = 0;  // number of the next shard
};

/// Counts of a directory, which another process may be filling: rows of its index. Error where that
/// is damaged.
AnswerCounts answer_counts(const std::string& directory);

}  // namespace triax
