#pragma once
// The length that a file had when it was opened, to find one that was made shorter in use.
#include <sys/stat.h>

#include <string>

namespace triax {

/// Behind the new end of such a file a mapping reads zeros up to the end of the page, and HDF5
/// zeros altogether: neither says anything.
class FileLength {
 public:
  FileLength() = default;
  explicit FileLength(const std::string& path);
  FileLength(std::string path, const struct stat& status);

  /// To be called after reading: an Error names a file that is shorter than it was. A path that is
  /// another file's by now, or none's, is none: what was opened stays as it was.
  void check() const;

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  off_t bytes_ = 0;
};

/// What is to be done about data that cannot be read.
inline constexpr const char* unreadable_remedy =
    "Check the file and its file system; a run goes on from its newest checkpoint";

}  // namespace triax
