// SPDX-License-Identifier: Apache-2.0
#include "src/text/split/make_splitter.hpp"

#include "src/text/split/families.hpp"
#include "src/text/split/regex.hpp"

namespace triax {
namespace {

class LiteralSplitter final : public Splitter {
 public:
  explicit LiteralSplitter(std::string literal) : literal_(std::move(literal)) {}

  std::size_t split(std::string_view text, std::size_t at, std::size_t limit,
                    std::vector<Cut>& cuts) const override {
    while (at < text.size() && cuts.size() < limit) {
      const std::size_t found = literal_.empty() ? text.npos : text.find(literal_, at);
      const std::size_t start = found == text.npos ? text.size() : found;
      if (start > at) cuts.push_back({start, false});
      at = start;
      if (found == text.npos) break;
      at += literal_.size();
      cuts.push_back({at, true});
    }
    return at;
  }

 private:
  std::string literal_;
};

}  // namespace

std::shared_ptr<const Splitter> make_splitter(const std::string& pattern,
                                              const std::string& where) {
  if (auto scanner = family_scanner(pattern)) return scanner;
  return regex_splitter(pattern, where);
}

std::shared_ptr<const Splitter> literal_splitter(const std::string& literal) {
  return std::make_shared<LiteralSplitter>(literal);
}

}  // namespace triax
