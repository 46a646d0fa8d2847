// SPDX-License-Identifier: Apache-2.0
#include "src/data/mixture/source_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace triax {
namespace {

std::size_t common_begin(const std::string& a, const std::string& b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// "a/*.bin" for a/1.bin and a/2.bin.
std::string pattern_of_files(const std::vector<std::string>& files) {
  if (files.size() == 1) return files.front();
  std::string begin = files.front(), end(files.front().rbegin(), files.front().rend());
  for (const std::string& file : files) begin.resize(common_begin(begin, file));
  for (const std::string& file : files) {
    end.resize(common_begin(end, {file.rbegin(), file.rend()}));
    end.resize(std::min(end.size(), file.size() - begin.size()));
  }
  return begin + "*" + std::string(end.rbegin(), end.rend());
}

// Length of the directories that all names begin with.
std::size_t shared_directories(const std::vector<std::string>& names) {
  std::string shared = names.front();
  for (const std::string& name : names) shared.resize(common_begin(shared, name));
  shared.resize(std::min(shared.size(), shared.find('*')));
  const auto slash = shared.rfind('/');
  return slash == std::string::npos ? 0 : slash + 1;
}

}  // namespace

std::vector<std::vector<std::string>> source_files(const DataConfig& data) {
  if (data.sources.empty()) return {data.train};
  std::vector<std::vector<std::string>> all;
  auto file = data.train.begin();
  for (const DataSource& source : data.sources) {
    const auto end = file + static_cast<std::ptrdiff_t>(source.files);
    all.emplace_back(file, end);
    file = end;
  }
  return all;
}

std::vector<std::string> source_names(const DataConfig& data) {
  std::vector<std::string> names;
  for (const auto& files : source_files(data))
    names.push_back(files.empty() ? std::string("data.train") : pattern_of_files(files));
  const std::size_t shared = shared_directories(names);
  std::vector<std::string> unique;
  for (const std::string& name : names) {
    const std::string rest = name.substr(shared);
    std::string now = rest;
    for (int number = 2; std::ranges::find(unique, now) != unique.end(); ++number)
      now = fmt::format("{} ({})", rest, number);
    unique.push_back(std::move(now));
  }
  return unique;
}

}  // namespace triax
