// SPDX-License-Identifier: Apache-2.0
#pragma once
// Detects a file that was truncated after it was opened.
#include <sys/stat.h>

#include <string>

namespace triax {

/// Length of a file when it was opened. Beyond the new end of a truncated file, a mapping reads
/// zeros up to the end of the page, and HDF5 reads zeros everywhere; neither reports an error.
class FileLength {
 public:
  FileLength() = default;
  explicit FileLength(const std::string& path);
  FileLength(std::string path, const struct stat& status);

  /// Call after reading. Error where the file is shorter than when it was opened. A path that now
  /// names another file, or none, is not an error: the open file is unchanged.
  void check() const;

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t bytes_ = 0;
};

/// Remedy in errors about data that cannot be read.
inline constexpr const char* unreadable_remedy =
    "Check the file and its file system, then rerun: a run resumes from its newest checkpoint";

}  // namespace triax
