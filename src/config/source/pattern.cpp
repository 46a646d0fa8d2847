// SPDX-License-Identifier: Apache-2.0
#include "src/config/source/pattern.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/config/source/file_look.hpp"

namespace triax {
namespace {
namespace fs = std::filesystem;

constexpr std::string_view special = "*?[\\";

// Adds the entries of `directory` that match `pattern`, which has one level.
void match_level(const fs::path& directory, const std::string& pattern, PatternMatches& matches,
                 std::vector<fs::path>& found) {
  std::error_code error;
  const fs::path listed = directory.empty() ? fs::path(".") : directory;
  for (fs::directory_iterator entry(listed, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (::fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) == 0)
      found.push_back(directory / name);
  }
  const bool absent =
      error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  if (error && !absent && matches.unlisted.empty())
    matches.unlisted = listed.string() + ": cannot list (" + error.message() + ")";
}

}  // namespace

PatternMatches match_pattern(const fs::path& directory, const std::string& pattern) {
  PatternMatches matches;
  std::vector<fs::path> found = {directory};
  for (const fs::path& level : fs::path(pattern)) {
    std::vector<fs::path> below;
    for (const fs::path& path : found)
      if (is_pattern(level.string()))
        match_level(path, level.string(), matches, below);
      else
        below.push_back(path / name_of_pattern(level.string()));
    found = std::move(below);
  }
  for (const fs::path& path : found) {
    const FileLook look = look_at(path);
    if (matches.unseen.empty()) matches.unseen = look.problem;
    std::error_code ignored;  // a dangling link counts: data_files() names the problem
    const bool there = look.there || fs::is_symlink(path, ignored);
    if (look.problem.empty() && there && !look.directory) matches.files.push_back(path.string());
  }
  std::ranges::sort(matches.files);
  return matches;
}

bool is_pattern(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\\')
      ++i;
    else if (special.find(text[i]) != special.npos)
      return true;
  return false;
}

std::string pattern_of(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    if (special.find(c) != special.npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

std::string name_of_pattern(const std::string& pattern) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    name += pattern[i];
  }
  return name;
}

std::vector<std::string> names_of_patterns(const std::vector<std::string>& patterns) {
  std::vector<std::string> names;
  for (const std::string& pattern : patterns) names.push_back(name_of_pattern(pattern));
  return names;
}

}  // namespace triax
