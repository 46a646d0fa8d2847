// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lines and pieces of a ByteSource, in memory bounded by the longest of them.
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "io/documents/byte_source.hpp"

namespace triax {

/// A window that slides over a stream of bytes.
class SlidingWindow {
 public:
  /// `begin`: offset of the source's first byte in the (decompressed) file.
  SlidingWindow(std::unique_ptr<ByteSource> source, std::int64_t begin)
      : source_(std::move(source)), at_(begin) {}

  /// The next bytes: at least `least` of them, or all up to the end of the file. Valid until the
  /// next call.
  std::string_view ahead(std::size_t least);
  /// Moves over the next `count` bytes, which ahead() has shown.
  void advance(std::size_t count);
  std::int64_t offset() const { return at_; }  // of the next byte in the file
  std::int64_t taken() const { return source_->taken(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // bytes of the buffer that are not yet taken
  bool ended_ = false;
  std::int64_t at_;
};

/// Lines, ended by '\n' or the end of the file.
class LineReader {
 public:
  /// A line longer than this is not read, as it would take memory without bound.
  static constexpr std::size_t longest = std::size_t{64} << 20;

  struct Line {
    std::string_view text;    // without its '\n'; empty where the line is too long
    std::int64_t offset = 0;  // of its first byte in the file
    std::int64_t number = 0;  // from 1, counted from where the reader began
    bool too_long = false;    // longer than `longest`
  };

  LineReader(std::unique_ptr<ByteSource> source, std::int64_t begin)
      : window_(std::move(source), begin) {}
  /// False at the end. The text is valid until the next call.
  bool next(Line& line);
  std::int64_t taken() const { return window_.taken(); }
  /// Offset of the line that next() will give.
  std::int64_t offset() const { return window_.offset() + static_cast<std::int64_t>(pending_); }

 private:
  void skip_rest_of_line();

  SlidingWindow window_;
  std::size_t pending_ = 0;  // bytes of the line given last
  std::int64_t number_ = 0;
};

}  // namespace triax
