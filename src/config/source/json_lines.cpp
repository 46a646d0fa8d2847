// SPDX-License-Identifier: Apache-2.0
#include "src/config/source/json_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/check.hpp"

namespace triax {
namespace {
using nlohmann::json;
constexpr std::size_t max_depth = 64;

// Iterates over the text for nlohmann's parser and records its position in *position. The parser
// reads no further than the closing quote of a key, so at a key event this is the key's position.
class TrackingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackingIterator(const char* at, const char** position) : at_(at), position_(position) {}
  reference operator*() const { return *at_; }
  TrackingIterator& operator++() {
    ++at_;
    *position_ = at_;
    return *this;
  }
  TrackingIterator operator++(int) {
    auto before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TrackingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const TrackingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** position_;
};

// Counts every line once: the positions asked for only increase.
class LineCounter {
 public:
  explicit LineCounter(const char* begin) : counted_(begin) {}
  int line(const char* position) {
    if (position > counted_) {
      line_ += static_cast<int>(std::count(counted_, position, '\n'));
      counted_ = position;
    }
    return line_;
  }

 private:
  const char* counted_;
  int line_ = 1;
};

class Builder final : public nlohmann::json_sax<json> {
 public:
  // The text of a file or, if `key` is not empty, of one --set value, which has no lines.
  Builder(const std::string& text, std::string file, std::string key, ErrorList& errors)
      : text_(text),
        file_(std::move(file)),
        root_(std::move(key)),
        errors_(errors),
        lines_(text.data()),
        at_(text.data()) {}

  JsonDocument take() { return std::move(document_); }
  const char** position() { return &at_; }

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(std::int64_t v) override { return value(v); }
  bool number_unsigned(std::uint64_t v) override { return value(v); }
  bool number_float(double v, const std::string& /*text*/) override { return value(v); }
  bool string(std::string& v) override { return value(std::move(v)); }
  bool binary(json::binary_t& /*v*/) override { return false; }
  bool start_object(std::size_t /*n*/) override { return open(json::object()); }
  bool start_array(std::size_t /*n*/) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    const int line = line_here();
    auto& level = levels_.back();
    level.key = name;
    if (!level.seen.insert(name).second)
      errors_.add({file_, line}, (level.path.empty() ? "" : level.path + ".") + name +
                                     ": written twice in this object");
    if (level.in_array) return true;
    document_.lines[level.path.empty() ? name : level.path + "." + name] = line;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const json::exception& e) override {
    const auto end = std::min(position > 0 ? position - 1 : 0, text_.size());
    const auto before = text_.substr(0, end);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const auto newline = before.rfind('\n');
    const auto column = newline == std::string::npos ? before.size() + 1 : before.size() - newline;
    const auto place = fmt::format("at line {}, column {}", line, column);
    const auto origin = Origin{file_, static_cast<int>(line)}.text();
    if (text_.starts_with("version https://git-lfs"))
      throw UsageError(file_ + " is a pointer of git-lfs, not the file itself", {},
                       "Fetch the file: git lfs pull");
    constexpr int number_overflow = 406;  // of nlohmann's exceptions
    if (e.id == number_overflow)
      throw UsageError(fmt::format("{}: the number {}{} {} is too large", origin,
                                   token.substr(0, 20), token.size() > 20 ? "..." : "", place),
                       {}, "Write one below 1.8e308");
    std::string what = e.what();
    if (const auto colon = what.find(": "); colon != std::string::npos)
      what = what.substr(colon + 2);
    // nlohmann's texts: a value or key is there where the object or array may only go on or end.
    if (what.ends_with("unexpected string literal; expected '}'") ||
        what.ends_with("unexpected string literal; expected ']'"))
      what += "; a comma may be missing before it";
    throw UsageError(fmt::format("{}: not JSON {}", origin, place), what);
  }

 private:
  struct Level {
    json* node;
    std::string path;
    bool in_array;  // below an array, keys have no dotted path
    std::string key;
    std::set<std::string> seen;
  };

  int line_here() { return root_.empty() ? lines_.line(at_) : 0; }
  json* place(json v) {
    if (levels_.empty()) {
      document_.root = std::move(v);
      return &document_.root;
    }
    auto& level = levels_.back();
    if (level.node->is_array()) {
      level.node->push_back(std::move(v));
      return &level.node->back();
    }
    auto& slot = (*level.node)[level.key];
    slot = std::move(v);
    return &slot;
  }
  bool value(json v) {
    place(std::move(v));
    return true;
  }
  bool open(json v) {
    if (levels_.size() == max_depth)
      throw UsageError(Origin{file_, line_here()}.text() + ": nested deeper than " +
                       std::to_string(max_depth) + " levels");
    if (levels_.empty()) document_.lines[""] = line_here();
    std::string path = root_;
    bool in_array = v.is_array();
    if (!levels_.empty()) {
      const auto& parent = levels_.back();
      path = parent.path;
      if (!parent.node->is_array()) path += (path.empty() ? "" : ".") + parent.key;
      in_array = in_array || parent.in_array;
    }
    json* node = place(std::move(v));
    levels_.push_back({node, std::move(path), in_array, {}, {}});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  const std::string& text_;
  std::string file_, root_;
  ErrorList& errors_;
  LineCounter lines_;
  const char* at_;
  JsonDocument document_;
  std::vector<Level> levels_;
};

JsonDocument parse(const std::string& text, Builder builder, bool ignore_comments) {
  const TrackingIterator begin(text.data(), builder.position());
  const TrackingIterator end(text.data() + text.size(), builder.position());
  json::sax_parse(begin, end, &builder, json::input_format_t::json, /*strict=*/true,
                  ignore_comments);
  return builder.take();
}

// Blanks the parts of Hjson, which DeepSpeed reads, that people use: comments from # to the end of
// the line, and a comma after the last element. All other characters keep their offsets.
std::string without_hjson(std::string text) {
  const auto end_of_line = [&](std::size_t from) {  // line ends of nlohmann's parser
    return std::min(text.find_first_of("\r\n", from), text.size());
  };
  char before = 0;        // last character that is neither blank nor in a comment
  std::size_t comma = 0;  // offset of that character if it is a comma after an element
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '#') {
      const std::size_t end = end_of_line(i);
      std::fill(text.begin() + static_cast<std::ptrdiff_t>(i),
                text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    } else if (c == '/') {
      i = text.compare(i, 2, "/*") == 0 ? std::min(text.find("*/", i + 2), text.size()) + 1
                                        : end_of_line(i);
    } else if (std::string_view(" \t\r\n").find(c) == std::string_view::npos) {
      if (c == '"')
        for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
      if ((c == '}' || c == ']') && before == ',') text[comma] = ' ';
      if (c == ',') comma = i;
      // A comma with no element before it stays, as an error for the parser.
      before =
          c == ',' && std::string_view("[{,:").find(before) != std::string_view::npos ? ':' : c;
    }
  }
  return text;
}

// Refuses text in UTF-16: with a byte order mark, or with an ASCII character in two bytes.
void refuse_utf16(const std::string& text, const std::string& file) {
  const bool marked = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
  const bool bare = text.size() > 1 && (text[0] == 0) != (text[1] == 0);
  if (marked || bare)
    throw UsageError(file + " is text in UTF-16", {},
                     "Save it in UTF-8, as with: iconv -f UTF-16 -t UTF-8");
}

// Refuses HDF5, such as a checkpoint given as a job, before it is read whole. Its signature is at
// the begin or, behind a user block, at a power of two (HDF5 File Format Specification, II.A).
void refuse_hdf5(const std::string& path) {
  constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return;  // a pipe is read once
  std::ifstream in(path, std::ios::binary);
  for (const std::streamoff at : {0, 512, 1024, 2048, 4096}) {
    std::array<char, signature.size()> found{};
    if (!in.seekg(at).read(found.data(), found.size())) return;
    if (std::string_view(found.data(), found.size()) == signature)
      throw UsageError(path + " is an HDF5 file, not JSON", {},
                       "To train on from a checkpoint, run triax train JOB.json --set "
                       "checkpoint.resume=FILE");
  }
}

}  // namespace

JsonDocument parse_json(const std::string& text, const std::string& file, ErrorList& errors) {
  refuse_utf16(text, file);
  const std::string plain = without_hjson(text);
  auto document = parse(plain, Builder(plain, file, {}, errors), true);
  if (!document.root.is_object())
    throw UsageError(file + ": the file holds no JSON object",
                     std::string("it is ") + document.root.type_name());
  return document;
}

json parse_override(const std::string& key, const std::string& text, ErrorList& errors) {
  if (!json::accept(text)) return text;
  return parse(text, Builder(text, "--set", key, errors), false).root;
}

std::string read_text(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw UsageError(path + ": cannot read", "it is a directory");
  refuse_hdf5(path);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UsageError(path + ": cannot read", std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace triax
