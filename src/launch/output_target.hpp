// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a command writes: looked at before it reads gigabytes, and kept from others meanwhile.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/files/file_lock.hpp"

namespace triax {

/// The directories that are to be made for `directory` to be there, the innermost first.
std::vector<std::string> directories_to_make(const std::string& directory);

/// A file or directory that this process alone writes as long as the object lives; by one rank.
class OutputTarget {
 public:
  enum class Kind : std::uint8_t { file, directory };

  /// Removes what a killed command left of a file ("<path>.tmp"), once no other has the target.
  /// Makes the directory, or the one that the file is to lie in; where it stays empty it is removed
  /// with the object. UsageError where there is a directory for a file, or a file for a directory;
  /// Error where the directory cannot be made or written, and where another process has the same
  /// target: it is named. Where the file system has no locks, a warning.
  OutputTarget(const std::string& path, Kind kind);
  ~OutputTarget();
  OutputTarget(const OutputTarget&) = delete;
  OutputTarget& operator=(const OutputTarget&) = delete;

 private:
  void make(const std::string& directory);

  std::vector<std::string> made_;  // the innermost first
  std::optional<FileLock> lock_;
};

}  // namespace triax
