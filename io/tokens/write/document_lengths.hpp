// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lengths of documents on disk: a corpus has more documents than memory should hold.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/documents/byte_source.hpp"
#include "io/files/output_file.hpp"

namespace triax {

/// Writes the tokens of each document, one after another.
class LengthsWriter {
 public:
  explicit LengthsWriter(const std::string& path) : file_(path) {}
  void add(std::int64_t tokens) { file_.append_values(std::span<const std::int64_t>(&tokens, 1)); }
  void close() { file_.close(OutputFile::Sync::does_not); }

 private:
  OutputFile file_;
};

/// Reads them again, in blocks.
class LengthsReader {
 public:
  explicit LengthsReader(const std::string& path) : source_(open_plain(path, 0)), block_(8192) {}
  /// The next lengths; none at the end.
  std::span<const std::int64_t> next() {
    const auto bytes = std::span(reinterpret_cast<char*>(block_.data()), block_.size() * 8);
    std::size_t filled = 0;
    for (std::size_t count = 1; count > 0 && filled < bytes.size(); filled += count)
      count = source_->read(bytes.subspan(filled));
    return std::span(block_).first(filled / sizeof(std::int64_t));
  }

 private:
  std::unique_ptr<ByteSource> source_;
  std::vector<std::int64_t> block_;
};

}  // namespace triax
