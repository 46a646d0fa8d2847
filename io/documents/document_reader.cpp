// SPDX-License-Identifier: Apache-2.0
#include "io/documents/document_reader.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "io/documents/json_fields.hpp"
#include "io/documents/line_reader.hpp"
#include "io/documents/text_pieces.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/utf8.hpp"

namespace triax {
namespace {

// Newlines in the first `bytes` bytes of an uncompressed file: for errors alone.
std::int64_t lines_before(const std::string& path, std::int64_t bytes) {
  const auto source = open_plain(path, 0);
  std::vector<char> buffer(std::size_t{256} << 10);
  std::int64_t lines = 0;
  while (bytes > 0) {
    const auto wanted = std::min(bytes, std::ssize(buffer));
    const std::size_t count =
        source->read(std::span(buffer).first(static_cast<std::size_t>(wanted)));
    if (count == 0) break;
    lines += std::count(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(count), '\n');
    bytes -= static_cast<std::int64_t>(count);
  }
  return lines;
}

[[noreturn]] void fail_for_utf8(const std::string& path, std::int64_t line, std::int64_t byte,
                                const char* why) {
  throw Error(fmt::format("{}:{}: byte {} of the file {}", path, line, byte, why),
              "tokenizers take UTF-8", "Repair the file, or set --invalid replace or skip");
}

// The UTF-8 of a document: as it is, or repaired into `buffer`. Nothing where the document is left
// out. `fail(byte)`: throws for the first byte that is not valid.
template <class Fail>
std::optional<std::string_view> checked_utf8(std::string_view text, InvalidText policy,
                                             std::string& buffer, ReadCounts& counts, Fail fail) {
  const std::size_t valid = valid_utf8(text);
  if (valid == text.size()) return text;
  if (policy == InvalidText::error) fail(valid);
  if (policy == InvalidText::skip) return {};
  buffer.clear();
  counts.replaced += static_cast<std::int64_t>(append_repaired(text, buffer));
  return buffer;
}

// One document per line.
class LineDocuments : public DocumentReader {
 public:
  LineDocuments(const InputFile& file, ByteRange range, const DocumentOptions& options,
                BadLine bad_line)
      : file_(file),
        options_(options),
        bad_line_(std::move(bad_line)),
        compressed_(file.compression != Compression::none),
        begin_(compressed_ ? 0 : range.begin),
        end_(compressed_ ? std::numeric_limits<std::int64_t>::max() : range.end),
        lines_(compressed_ ? open_bytes(file.path, file.compression)
                           : open_plain(file.path, std::max<std::int64_t>(0, begin_ - 1)),
               std::max<std::int64_t>(0, begin_ - 1)),
        fields_(options.keys) {
    // The line that the range begins in, or the newline in front of it, belongs to the range
    // before.
    LineReader::Line before;
    if (begin_ > 0) lines_.next(before);
  }

  bool next(Piece& piece) override {
    while (rest_.empty())
      if (!next_document()) return false;
    // Cuts are near multiples of piece_bytes, counted from the beginning of the text.
    const std::size_t given = text_bytes_ - rest_.size();
    const std::size_t nominal = (given / piece_bytes + 1) * piece_bytes;
    std::size_t cut = rest_.size();
    if (nominal < text_bytes_) cut = piece_cut(rest_, nominal - given);
    piece = {.text = rest_.substr(0, cut), .last = cut == rest_.size()};
    rest_.remove_prefix(cut);
    return true;
  }
  std::int64_t taken() const override { return lines_.taken(); }

 private:
  // Sets rest_ to the text of the next line; empty where the line gives none.
  bool next_document() {
    if (lines_.offset() >= end_ || !lines_.next(line_)) return false;
    std::string_view line = line_.text;
    if (line_.offset == 0 && line.starts_with(byte_order_mark))
      line.remove_prefix(byte_order_mark.size());
    if (line_.too_long) {
      bad("the line", fmt::format("it is longer than {} MiB, the most that is held in memory",
                                  LineReader::longest >> 20));
    } else if (file_.format == DocumentFormat::json) {
      if (line.find_first_not_of(" \t\r") != line.npos) json_line(line);
    } else {
      if (line.ends_with('\r')) line.remove_suffix(1);
      const auto text =
          checked_utf8(line, options_.invalid, repaired_, counted(), [&](std::size_t at) {
            fail_for_utf8(file_.path, number(), byte_of(line, at), "is not UTF-8");
          });
      finish(text);
    }
    return true;
  }

  void finish(std::optional<std::string_view> text) {
    if (!text) ++counted().invalid;
    rest_ = text.value_or(std::string_view());
    text_bytes_ = rest_.size();
  }

  void json_line(std::string_view line) {
    if (const auto problem = fields_.scan(line)) {
      const auto byte =
          line.data() - line_.text.data() + static_cast<std::ptrdiff_t>(problem->byte);
      return bad(fmt::format("byte {} of the line", byte), problem->why);
    }
    const std::vector<std::string_view>& strings = fields_.strings();
    text_.clear();
    for (std::size_t i = 0; i < strings.size(); ++i) {
      if (i > 0) text_ += options_.join;
      const auto raw =
          checked_utf8(strings[i], options_.invalid, repaired_, counted(), [&](std::size_t at) {
            fail_for_utf8(file_.path, number(), byte_of(strings[i], at), "is not UTF-8");
          });
      if (!raw) return finish({});
      // Most strings of code and chat have escapes; where a line has none, it is not copied.
      if (strings.size() == 1 && raw->find('\\') == raw->npos) return finish(raw);
      if (!unescape(strings[i], *raw)) return finish({});
    }
    finish(text_);
  }

  // False where the document is left out.
  bool unescape(std::string_view string, std::string_view raw) {
    std::size_t replaced = 0;
    const bool replaces = options_.invalid == InvalidText::replace;
    const auto half = append_unescaped(raw, text_, replaces ? &replaced : nullptr);
    counted().replaced += static_cast<std::int64_t>(replaced);
    if (half && options_.invalid == InvalidText::error)
      fail_for_utf8(file_.path, number(), byte_of(string, *half),
                    "begins half of a surrogate pair, which has no UTF-8");
    return !half;
  }

  void bad(const std::string& what, const std::string& why) {
    ++counted().bad_lines;
    bad_line_(fmt::format("{}:{}: {} is not as expected", file_.path, number(), what), why);
  }

  // Number of the current line in the file.
  std::int64_t number() const {
    return compressed_ ? line_.number : lines_before(file_.path, line_.offset) + 1;
  }
  std::int64_t byte_of(std::string_view part, std::size_t at) const {
    return line_.offset + (part.data() - line_.text.data()) + static_cast<std::int64_t>(at);
  }

  const InputFile& file_;
  const DocumentOptions& options_;
  BadLine bad_line_;
  bool compressed_;
  std::int64_t begin_, end_;
  LineReader lines_;
  LineReader::Line line_;
  JsonFields fields_;
  std::string text_, repaired_;
  std::string_view rest_;       // of the current document
  std::size_t text_bytes_ = 0;  // of the current document
};

// The whole file is one document.
class TextDocument : public DocumentReader {
 public:
  TextDocument(const InputFile& file, ByteRange range, const DocumentOptions& options)
      : file_(file),
        options_(options),
        compressed_(file.compression != Compression::none),
        nominal_(compressed_ ? 0 : range.begin),
        end_(compressed_ ? std::numeric_limits<std::int64_t>::max() : range.end),
        window_(compressed_ ? open_bytes(file.path, file.compression)
                            : open_plain(file.path, std::max<std::int64_t>(0, nominal_ - 2)),
                std::max<std::int64_t>(0, nominal_ - 2)) {
    if (nominal_ > 0)
      window_.advance(piece_cut(window_.ahead(2 + cut_range), 2));
    else if (window_.ahead(byte_order_mark.size()).starts_with(byte_order_mark))
      window_.advance(byte_order_mark.size());
  }

  bool next(Piece& piece) override {
    if (nominal_ >= end_) return false;
    advance_over_last();
    nominal_ += static_cast<std::int64_t>(piece_bytes);
    const auto to_nominal = static_cast<std::size_t>(nominal_ - window_.offset());
    // One byte more than the cut needs shows whether the text ends there.
    const std::string_view seen = window_.ahead(to_nominal + cut_range + 1);
    if (seen.empty()) return false;
    last_ = seen.size() > to_nominal ? piece_cut(seen, to_nominal) : seen.size();
    const auto text = checked_utf8(
        seen.substr(0, last_), options_.invalid, repaired_, counted(), [&](std::size_t at) {
          const auto lines = compressed_ ? lines_ : lines_before(file_.path, window_.offset());
          fail_for_utf8(
              file_.path,
              lines +
                  std::count(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(at), '\n') +
                  1,
              window_.offset() + static_cast<std::int64_t>(at), "is not UTF-8");
        });
    if (!text) ++counted().invalid;
    piece = {.text = text.value_or(std::string_view()),
             .last = seen.size() == last_,
             .left_out = !text.has_value()};
    return true;
  }
  std::int64_t taken() const override { return window_.taken(); }

 private:
  void advance_over_last() {
    if (compressed_) {
      const std::string_view taken = window_.ahead(last_).substr(0, last_);
      lines_ += std::count(taken.begin(), taken.end(), '\n');
    }
    window_.advance(std::exchange(last_, 0));
  }

  const InputFile& file_;
  const DocumentOptions& options_;
  bool compressed_;
  std::int64_t nominal_;  // cut behind the piece given last
  std::int64_t end_;
  SlidingWindow window_;
  std::size_t last_ = 0;    // bytes of the piece given last
  std::int64_t lines_ = 0;  // in front of it, in compressed files
  std::string repaired_;
};

}  // namespace

std::unique_ptr<DocumentReader> open_documents(const InputFile& file, ByteRange range,
                                               const DocumentOptions& options, BadLine bad_line) {
  if (file.format == DocumentFormat::text)
    return std::make_unique<TextDocument>(file, range, options);
  return std::make_unique<LineDocuments>(file, range, options, std::move(bad_line));
}

}  // namespace triax
