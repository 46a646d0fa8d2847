// SPDX-License-Identifier: Apache-2.0
#include "io/documents/line_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace triax {

namespace {
constexpr std::size_t read_bytes = std::size_t{256} << 10;
}

std::string_view SlidingWindow::ahead(std::size_t least) {
  while (end_ - begin_ < least && !ended_) {
    if (begin_ > 0 && buffer_.size() - end_ < read_bytes) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= std::exchange(begin_, 0);
    }
    if (buffer_.size() - end_ < read_bytes)
      buffer_.resize(std::max({2 * read_bytes, buffer_.size() * 3 / 2, least + read_bytes}));
    const std::size_t count = source_->read(std::span(buffer_).subspan(end_));
    ended_ = count == 0;
    end_ += count;
  }
  return {buffer_.data() + begin_, end_ - begin_};
}

void SlidingWindow::advance(std::size_t count) {
  begin_ += count;
  at_ += static_cast<std::int64_t>(count);
}

bool LineReader::next(Line& line) {
  window_.advance(std::exchange(pending_, 0));
  std::size_t searched = 0;
  std::string_view seen = window_.ahead(1);
  if (seen.empty()) return false;
  line = {.text = {}, .offset = window_.offset(), .number = ++number_, .too_long = false};
  std::size_t end = seen.find('\n');
  while (end == seen.npos && seen.size() <= longest) {
    searched = seen.size();
    seen = window_.ahead(searched + 1);
    if (seen.size() == searched) break;  // the last line has no newline
    end = seen.find('\n', searched);
  }
  line.too_long = std::min(end, seen.size()) > longest;
  if (line.too_long) {
    skip_rest_of_line();
    return true;
  }
  line.text = seen.substr(0, end);
  pending_ = std::min(line.text.size() + 1, seen.size());
  return true;
}

void LineReader::skip_rest_of_line() {
  for (std::string_view seen = window_.ahead(1); !seen.empty(); seen = window_.ahead(1)) {
    const std::size_t end = seen.find('\n');
    window_.advance(std::min(end, seen.size() - 1) + 1);
    if (end != seen.npos) return;
  }
}

}  // namespace triax
