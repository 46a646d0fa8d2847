#include "src/config/errors.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"

namespace triax {

std::string Origin::text() const {
  return line > 0 ? file + ":" + std::to_string(line) : file;
}

void ErrorList::add(const Origin& origin, const std::string& text) {
  entries_.push_back({origin, text});
}

void ErrorList::add(const ErrorList& others) {
  entries_.insert(entries_.end(), others.entries_.begin(), others.entries_.end());
}

void ErrorList::raise() const {
  if (entries_.empty()) return;
  auto entries = entries_;
  std::ranges::stable_sort(entries, [](const Entry& a, const Entry& b) {
    return a.origin.file != b.origin.file ? a.origin.file < b.origin.file
                                          : a.origin.line < b.origin.line;
  });
  std::string text;
  for (const auto& [origin, problem] : entries) {
    if (!text.empty()) text += '\n';
    const auto where = origin.text();
    text += where.empty() ? problem : where + ": " + problem;
  }
  throw UsageError(text);
}

}  // namespace triax
