// SPDX-License-Identifier: Apache-2.0
#include "io/files/append_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "io/files/durable.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what, int failure) {
  throw Error(fmt::format("cannot {} {}", what, path), std::strerror(failure),
              failure == EFBIG ? "Raise the limit on the size of files (ulimit -f)"
                               : "Check free space, quota and permissions of its directory");
}

}  // namespace

AppendFile::AppendFile(std::string path) : path_(std::move(path)) {
  constexpr mode_t all_may_as_umask_says = 0666;
  struct stat status {};
  const bool is_new = ::stat(path_.c_str(), &status) != 0;
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, all_may_as_umask_says);
  if (fd_ < 0) fail(path_, "open", errno);
  if (::fstat(fd_, &status) == 0) bytes_ = status.st_size;
  if (is_new) sync_path(directory_of(path_));
}

AppendFile::~AppendFile() {
  ::close(fd_);
}

void AppendFile::append(std::string_view text) {
  std::int64_t at = bytes_;
  synced_ = false;
  if (const int failure = write_all(fd_, std::as_bytes(std::span(text)), at); failure != 0)
    fail(path_, "write", failure);
  bytes_ = at;
}

void AppendFile::sync() {
  if (std::exchange(synced_, true)) return;
  if (::fdatasync(fd_) != 0 && errno != EINVAL) fail(path_, "sync", errno);
}

void AppendFile::cut(std::int64_t bytes) {
  if (bytes == bytes_) return;
  if (::ftruncate(fd_, bytes) != 0) fail(path_, "cut", errno);
  bytes_ = bytes;
  synced_ = false;
}

}  // namespace triax
