// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patterns of file names: * ? [...], and \ before a character that stands for itself. Only what a
// user wrote in data.train and data.valid is a pattern; the directories before it, and all other
// paths, are names. job.json stores the files found as patterns of their names alone.
#include <filesystem>
#include <string>
#include <vector>

namespace triax {

struct PatternMatches {
  std::vector<std::string> files;  // in byte order, without directories
  std::string unseen;              // first match that cannot be looked at, and why
  std::string unlisted;            // first directory that cannot be listed, and why
};
/// Files below `directory` that match `pattern`. If `directory` is empty, the working directory is
/// searched and not part of the matches. * stays within one level. None of * ? [...] matches the
/// dot of a hidden file.
PatternMatches match_pattern(const std::filesystem::path& directory, const std::string& pattern);

/// Whether the text contains an unescaped * ? or [.
bool is_pattern(const std::string& text);
/// The pattern that matches the file `name` and no other.
std::string pattern_of(const std::string& name);
/// The name that a pattern without wildcards stands for: the inverse of pattern_of.
std::string name_of_pattern(const std::string& pattern);
std::vector<std::string> names_of_patterns(const std::vector<std::string>& patterns);

}  // namespace triax
