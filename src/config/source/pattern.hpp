#pragma once
// Patterns of file names: * ? [...], and \ before a character that stands for itself. Only what a
// user wrote is one; directories that come before it have names.
#include <filesystem>
#include <string>
#include <vector>

namespace triax {

struct PatternMatches {
  std::vector<std::string> files;  // in the order of bytes, without directories
  std::string unseen;              // the first match that cannot be looked at, and why
  std::string unlisted;            // the first directory that cannot be listed, and why
};
/// Files below `directory` (empty: the working directory, which the matches then do not name) that
/// `pattern` matches. A * stays within one level, and neither * nor ? nor [...] matches the dot
/// that hides a file.
PatternMatches match_pattern(const std::filesystem::path& directory, const std::string& pattern);

/// Whether a text has a character that stands for others.
bool is_pattern(const std::string& text);
/// The pattern that matches the file `name` and no other.
std::string pattern_of(const std::string& name);
/// The name that a pattern without such a character stands for: the inverse of pattern_of.
std::string name_of_pattern(const std::string& pattern);
std::vector<std::string> names_of_patterns(const std::vector<std::string>& patterns);

}  // namespace triax
