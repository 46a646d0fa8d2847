// JSON lines: one object a line, its "text" decoded when it is read. In memory: 16 bytes a line,
// and one line.
#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "io/token_formats.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

using Json = nlohmann::json;

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

// The line that starts at `offset`, without its end.
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

class JsonlFile : public TokenFile {
 public:
  explicit JsonlFile(MappedFile file) : file_(std::move(file)) {
    const std::string_view all = text_of(file_);
    std::int64_t number = 0;
    for (std::size_t offset = 0; offset < all.size();) {
      const std::string_view line = line_at(all, offset);
      ++number;
      if (!blank(line)) add(offset, line, number);
      offset += line.size() + 1;
    }
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
      // The separator is the one token behind the text.
      for (; at <= text.size() && done < out.size(); ++at, ++done)
        out[done] = at == text.size() ? '\n' : static_cast<unsigned char>(text[at]);
    }
  }

 private:
  struct Line {
    std::size_t offset;  // in the file
    std::int64_t begin;  // its first token
  };

  void add(std::size_t offset, std::string_view line, std::int64_t number) {
    const auto text = decoded(line);
    if (!text)
      throw Error(
          fmt::format("{}:{} is not a JSON object with a string \"text\"", file_.path(), number),
          "the file's first line is one", "Repair or remove the line");
    lines_.push_back({offset, size_});
    size_ += std::ssize(*text) + 1;
  }

  const std::string& cached(std::size_t line) const {
    if (cached_line_ != line) {
      auto text = decoded(line_at(text_of(file_), lines_[line].offset));
      if (!text) file_.check_length();
      if (!text)
        throw Error("cannot read " + file_.path(),
                    fmt::format("byte {} begins no JSON line with a \"text\" any more: it was "
                                "changed while it was in use",
                                lines_[line].offset),
                    unreadable_remedy);
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

// The first line that is not blank where it begins like a JSON object, else nothing.
std::string_view object_line(const MappedFile& file) {
  const std::string_view all = text_of(file);
  const std::size_t first = all.find_first_not_of(" \t\r\n");
  if (first == all.npos || all[first] != '{') return {};
  return line_at(all, first);
}

}  // namespace

bool is_jsonl(const MappedFile& file) {
  const std::string_view line = object_line(file);
  return !line.empty() && decoded(line).has_value();
}

bool starts_with_json_object(const MappedFile& file) {
  const std::string_view line = object_line(file);
  return !line.empty() && nlohmann::json::accept(line);
}

std::unique_ptr<TokenFile> open_jsonl(MappedFile file) {
  return std::make_unique<JsonlFile>(std::move(file));
}

}  // namespace triax
