// SPDX-License-Identifier: Apache-2.0
#pragma once
// The samples of one file of JSON lines, encoded by several threads and kept on disk.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/data/chat/sample_encoder.hpp"

namespace triax {

/// Rows of samples in the order of their lines, whatever the number of threads: one row per sample,
/// or two of preference data.
class SampleFile {
 public:
  /// Encodes the lines of `path`, which may be compressed, into the file `spool`, which is removed
  /// with the object. Error with file and line for a line that is no conversation.
  SampleFile(const ChatContext& context, const std::string& path, std::string spool, int threads);
  ~SampleFile();
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  std::size_t size() const { return lengths_.size(); }
  /// Tokens of each row, at most ChatContext::most_tokens.
  const std::vector<std::int32_t>& lengths() const { return lengths_; }
  /// Ids and labels of a row, lengths()[i] each.
  void read(std::size_t row, std::span<std::int32_t> ids, std::span<std::int32_t> labels) const;
  const ChatCounts& counts() const { return counts_; }

 private:
  // Removes a file at its end.
  struct Removed {
    std::string path;
    ~Removed();
  };
  struct Spool;
  Removed file_;
  std::vector<std::int32_t> lengths_;
  std::vector<std::int64_t> begins_;  // of each row in the spool, in numbers
  ChatCounts counts_;
  std::unique_ptr<Spool> spool_;
};

}  // namespace triax
