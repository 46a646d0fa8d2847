// SPDX-License-Identifier: Apache-2.0
#include "src/text/normalize/normalizer.hpp"

#include <utf8proc.h>

#include "kernels/base/utf8.hpp"
#include "src/text/unicode/classes.hpp"

namespace triax {
namespace {

class Replacing final : public Normalizer {
 public:
  Replacing(std::shared_ptr<const Splitter> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  bool apply(std::string_view text, std::string& out) const override {
    constexpr std::size_t limit = 1024;
    std::vector<Cut> cuts;
    std::size_t begin = 0;
    bool changed = false;
    for (std::size_t at = 0; at < text.size();) {
      cuts.clear();
      at = pattern_->split(text, at, limit, cuts);
      for (const Cut& cut : cuts) {
        out += cut.matched ? std::string_view(content_) : text.substr(begin, cut.end - begin);
        changed = changed || cut.matched;
        begin = cut.end;
      }
    }
    if (!changed) out.clear();
    return changed;
  }

 private:
  std::shared_ptr<const Splitter> pattern_;
  std::string content_;
};

class Prepending final : public Normalizer {
 public:
  explicit Prepending(std::string content) : content_(std::move(content)) {}
  bool apply(std::string_view text, std::string& out) const override {
    if (text.empty()) return false;
    out.append(content_).append(text);
    return true;
  }

 private:
  std::string content_;
};

class Stripping final : public Normalizer {
 public:
  Stripping(bool left, bool right) : left_(left), right_(right) {}
  bool apply(std::string_view text, std::string& out) const override {
    const char* begin = text.data();
    const char* end = begin + text.size();
    while (left_ && begin < end && is_space(begin, end)) begin += code_point_at(begin, end).bytes;
    while (right_ && begin < end && is_space(previous_code_point(begin, end), end))
      end = previous_code_point(begin, end);
    if (static_cast<std::size_t>(end - begin) == text.size()) return false;
    out.assign(begin, end);
    return true;
  }

 private:
  static bool is_space(const char* at, const char* end) {
    return (CharacterClasses::table().of(code_point_at(at, end).value) & classes::space) != 0;
  }
  bool left_, right_;
};

class Lowering final : public Normalizer {
 public:
  bool apply(std::string_view text, std::string& out) const override {
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
      const CodePoint c = code_point_at(at, end);
      if (c.bytes == 1) {
        out.push_back(*at >= 'A' && *at <= 'Z' ? static_cast<char>(*at | 0x20) : *at);
      } else {
        append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<int>(c.value))));
        if (c.value == 0x130) append_utf8(out, 0x307);  // the only one that becomes two
      }
      at += c.bytes;
    }
    if (out != text) return true;
    out.clear();
    return false;
  }
};

}  // namespace

std::string_view normalized(std::string_view text, const Normalizers& normalizers, std::string& a,
                            std::string& b) {
  std::string* out = &a;
  std::string* other = &b;
  for (const auto& normalizer : normalizers) {
    out->clear();
    if (!normalizer->apply(text, *out)) continue;
    text = *out;
    std::swap(out, other);
  }
  return text;
}

std::unique_ptr<const Normalizer> replacing(std::shared_ptr<const Splitter> pattern,
                                            std::string content) {
  return std::make_unique<Replacing>(std::move(pattern), std::move(content));
}
std::unique_ptr<const Normalizer> prepending(std::string content) {
  return std::make_unique<Prepending>(std::move(content));
}
std::unique_ptr<const Normalizer> stripping(bool left, bool right) {
  return std::make_unique<Stripping>(left, right);
}
std::unique_ptr<const Normalizer> lowering() {
  return std::make_unique<Lowering>();
}

}  // namespace triax
