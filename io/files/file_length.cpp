// SPDX-License-Identifier: Apache-2.0
#include "io/files/file_length.hpp"

#include <utility>

#include "kernels/base/check.hpp"

namespace triax {
namespace {
struct stat status_of(const std::string& path) {
  struct stat status {};
  ::stat(path.c_str(), &status);  // on failure zeros stay: no file is shorter
  return status;
}
}  // namespace

FileLength::FileLength(const std::string& path) : FileLength(path, status_of(path)) {}

FileLength::FileLength(std::string path, const struct stat& status)
    : path_(std::move(path)),
      device_(status.st_dev),
      inode_(status.st_ino),
      bytes_(status.st_size) {}

void FileLength::check() const {
  const struct stat now = status_of(path_);
  if (now.st_dev != device_ || now.st_ino != inode_ || now.st_size >= bytes_) return;
  throw Error("cannot read " + path_,
              fmt::format("it has {} bytes, {} when it was opened: it was made shorter during use",
                          now.st_size, bytes_),
              unreadable_remedy);
}

}  // namespace triax
