// SPDX-License-Identifier: Apache-2.0
// JSON lines: one object per line, whose "text" is decoded when it is read. Memory: 16 bytes per
// line, and one decoded line. Each rank of the job finds the lines in its share of the file.
#include <algorithm>
#include <array>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "io/tokens/token_formats.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

using Json = nlohmann::json;

// The file's text without a UTF-8 byte order mark.
std::string_view text_of(const MappedFile& file) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  std::string_view all(reinterpret_cast<const char*>(file.data()), file.size());
  if (all.starts_with(mark)) all.remove_prefix(mark.size());
  return all;
}

// The line that starts at `offset`, without its newline.
std::string_view line_at(std::string_view text, std::size_t offset) {
  return text.substr(offset, text.find('\n', offset) - offset);
}

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == line.npos;
}

std::optional<std::string> decoded(std::string_view line) {
  Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) return {};
  const auto text = object.find("text");
  if (text == object.end() || !text->is_string()) return {};
  return std::move(text->get_ref<std::string&>());
}

// The lines that begin in one rank's share of a file, in order.
struct FoundLines {
  std::vector<std::int64_t> places;  // per non-blank line: its offset, its tokens
  std::int64_t lines = 0;            // blank lines included
  std::int64_t bad = 0;              // number (from 1) of the first line without text; 0: none
};

// Finds the lines that begin in the share of rank `rank` of `size`.
FoundLines find_lines(std::string_view all, std::size_t rank, std::size_t size) {
  const auto part = [&](std::size_t r) {
    return all.size() / size * r + all.size() % size * r / size;
  };
  const std::size_t begin = part(rank), end = part(rank + 1);
  FoundLines found;
  std::size_t offset = begin == 0 ? 0 : all.find('\n', begin - 1);
  if (begin > 0 && offset != all.npos) ++offset;
  while (offset < end) {
    const std::string_view line = line_at(all, offset);
    ++found.lines;
    if (!blank(line)) {
      const auto text = decoded(line);
      if (!text) {
        found.bad = found.lines;
        break;
      }
      found.places.push_back(static_cast<std::int64_t>(offset));
      found.places.push_back(std::ssize(*text));
    }
    offset += line.size() + 1;
  }
  return found;
}

class JsonlFile : public TokenFile {
 public:
  JsonlFile(MappedFile file, const Ranks& ranks) : file_(std::move(file)) {
    add(find_together(ranks), ranks);
    --size_;  // no separator after the last text
    if (size_ == 0)
      throw Error(file_.path() + " holds no text", "every \"text\" is empty",
                  "Give a file with text in it");
  }
  std::int64_t size() const override { return size_; }
  void check_length() const override { file_.check_length(); }
  std::string_view format() const override { return "jsonl"; }

  void read(std::int64_t begin, std::span<std::int32_t> out) const override {
    check_token_range(*this, begin, out);
    const std::scoped_lock lock(mutex_);
    const auto after = std::ranges::upper_bound(lines_, begin, {}, &Line::begin);
    auto line = static_cast<std::size_t>(after - lines_.begin()) - 1;
    for (std::size_t done = 0; done < out.size(); ++line) {
      const std::string& text = cached(line);
      auto at = static_cast<std::size_t>(begin - lines_[line].begin) + done;
      // The token behind the text is the separator.
      for (; at <= text.size() && done < out.size(); ++at, ++done)
        out[done] = at == text.size() ? '\n' : static_cast<unsigned char>(text[at]);
    }
  }
  bool has_documents() const override { return true; }
  void read_starts(std::int64_t begin, std::span<std::uint8_t> starts) const override {
    std::ranges::fill(starts, std::uint8_t{0});
    const std::int64_t end = begin + std::ssize(starts);
    auto line = std::ranges::lower_bound(lines_, begin, {}, &Line::begin);
    for (; line != lines_.end() && line->begin < end; ++line)
      starts[static_cast<std::size_t>(line->begin - begin)] = 1;
  }

 private:
  struct Line {
    std::size_t offset;  // in the file
    std::int64_t begin;  // index of its first token
  };

  // The lines this rank found. Error on all ranks where any rank found a line without text.
  FoundLines find_together(const Ranks& ranks) const {
    FoundLines found;
    agreed(ranks, [&] {
      found = find_lines(text_of(file_), static_cast<std::size_t>(ranks.rank),
                         static_cast<std::size_t>(ranks.size));
    });
    std::int64_t before = 0;
    const std::array<std::int64_t, 2> own{found.lines, found.bad};
    const std::vector<std::int64_t> all = gather_over_ranks(ranks, own);
    for (std::size_t r = 0; r < all.size(); r += own.size()) {
      if (all[r + 1] > 0)
        throw Error(fmt::format("{}:{} is not a JSON object with a string \"text\"", file_.path(),
                                before + all[r + 1]),
                    "the file's first line is one", "Repair or remove the line");
      before += all[r];
    }
    return found;
  }

  // Adds the lines of all ranks, one rank after another: memory holds the lines of only one rank
  // twice.
  void add(FoundLines found, const Ranks& ranks) {
    const std::array<std::int64_t, 1> own{std::ssize(found.places)};
    const std::vector<std::int64_t> counts = gather_over_ranks(ranks, own);
    lines_.reserve(static_cast<std::size_t>(std::reduce(counts.begin(), counts.end()) / 2));
    std::vector<std::int64_t> others;
    for (int r = 0; r < ranks.size; ++r) {
      std::vector<std::int64_t>& places = r == ranks.rank ? found.places : others;
      places.resize(static_cast<std::size_t>(counts[static_cast<std::size_t>(r)]));
      broadcast_numbers(ranks, places, r);
      for (std::size_t i = 0; i < places.size(); i += 2) {
        lines_.push_back({static_cast<std::size_t>(places[i]), size_});
        size_ += places[i + 1] + 1;
      }
    }
  }

  // Bytes of a line's text when the file was opened.
  std::int64_t length_of(std::size_t line) const {
    const std::int64_t end = line + 1 < lines_.size() ? lines_[line + 1].begin - 1 : size_;
    return end - lines_[line].begin;
  }

  const std::string& cached(std::size_t line) const {
    if (cached_line_ != line) {
      const std::size_t offset = lines_[line].offset;
      auto text = decoded(line_at(text_of(file_), offset));
      if (!text || std::ssize(*text) != length_of(line)) {
        file_.check_length();
        throw Error("cannot read " + file_.path(),
                    fmt::format("the JSON line at byte {} is not the same any more: the file was "
                                "changed during use",
                                offset + file_.size() - text_of(file_).size()),
                    unreadable_remedy);
      }
      cached_text_ = *std::move(text);
      cached_line_ = line;
    }
    return cached_text_;
  }

  MappedFile file_;
  std::vector<Line> lines_;
  std::int64_t size_ = 0;
  mutable std::mutex mutex_;  // guards the one decoded line
  mutable std::optional<std::size_t> cached_line_;
  mutable std::string cached_text_;
};

}  // namespace

namespace {

// The first non-blank line; empty if there is none.
std::string_view first_line(const MappedFile& file) {
  const std::string_view all = text_of(file);
  const std::size_t first = all.find_first_not_of(" \t\r\n");
  return first == all.npos ? std::string_view() : line_at(all, first);
}

}  // namespace

bool is_jsonl(const MappedFile& file) {
  const std::string_view line = first_line(file);
  return line.starts_with('{') && decoded(line).has_value();
}

std::string why_not_jsonl(const MappedFile& file) {
  const std::string_view line = first_line(file);
  if (line.empty()) return "it has no line that is not blank";
  if (line.starts_with('[')) return "it begins with a JSON array";
  try {
    return Json::parse(line).is_object() ? "its first line has no string \"text\""
                                         : "its first line is no JSON object";
  } catch (const Json::exception& error) {
    std::string what = error.what();
    if (const auto end = what.find("] "); end != what.npos) what = what.substr(end + 2);
    return "its first line is no complete JSON object: " + what;
  }
}

std::unique_ptr<TokenFile> open_jsonl(MappedFile file, const Ranks& ranks) {
  return std::make_unique<JsonlFile>(std::move(file), ranks);
}

}  // namespace triax
