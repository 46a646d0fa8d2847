// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples of conversations, kept on disk while their rows are made.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/files/output_file.hpp"
#include "src/data/chat/sample_encoder.hpp"

namespace triax {

/// Rows of samples in the order in which they are added: one row per sample, or two of preference
/// data.
class SampleFile {
 public:
  /// Keeps rows in the file `spool`, which is removed with the object.
  explicit SampleFile(std::string spool);
  ~SampleFile();
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  void add(const ChatSample& row);
  /// Adds what encoders counted of the rows that were added.
  void add_counts(const ChatCounts& counts) { counts_ += counts; }
  /// Ends the additions; read() is called after it.
  void close();

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
  OutputFile out_;
  std::vector<std::int32_t> lengths_;
  std::vector<std::int64_t> begins_;  // of each row in the spool, in numbers
  std::int64_t end_ = 0;              // of the rows so far
  ChatCounts counts_;
  std::unique_ptr<Spool> spool_;
};

}  // namespace triax
