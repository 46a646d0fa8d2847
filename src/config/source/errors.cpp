// SPDX-License-Identifier: Apache-2.0
#include "src/config/source/errors.hpp"

#include <fmt/format.h>

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

std::vector<std::string> ErrorList::texts() const {
  auto entries = entries_;
  std::ranges::stable_sort(entries, [](const Entry& a, const Entry& b) {
    return a.origin.file != b.origin.file ? a.origin.file < b.origin.file
                                          : a.origin.line < b.origin.line;
  });
  std::vector<std::string> texts;
  for (const auto& [origin, problem] : entries) {
    const auto where = origin.text();
    texts.push_back(where.empty() ? problem : where + ": " + problem);
  }
  return texts;
}

void ErrorList::raise() const {
  if (entries_.empty()) return;
  throw UsageError(fmt::format("{}", fmt::join(texts(), "\n")));
}

}  // namespace triax
