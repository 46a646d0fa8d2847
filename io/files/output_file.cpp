// SPDX-License-Identifier: Apache-2.0
#include "io/files/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "io/files/durable.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

[[noreturn]] void fail(const std::string& path, const char* what, int failure) {
  throw Error(fmt::format("cannot {} {}", what, path), std::strerror(failure),
              failure == EFBIG ? "Raise the limit on the size of files (ulimit -f)"
                               : "Check free space, quota and permissions of its directory");
}

}  // namespace

OutputFile::OutputFile(std::string path, Opens opens) : path_(std::move(path)) {
  const int flags = opens == Opens::new_file ? O_CREAT | O_TRUNC : 0;
  constexpr mode_t all_may_as_umask_says = 0666;
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | flags, all_may_as_umask_says);
  if (fd_ < 0) fail(path_, "create", errno);
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
}

void OutputFile::append(std::span<const std::byte> data) {
  if (buffer_.size() + data.size() > buffer_bytes) flush();
  if (data.size() > buffer_bytes) {
    write_at(at_, data);
    at_ += std::ssize(data);
  } else {
    buffer_.insert(buffer_.end(), data.begin(), data.end());
  }
}

void OutputFile::write_at(std::int64_t at, std::span<const std::byte> data) const {
  if (const int failure = write_all(fd_, data, at); failure != 0) fail(path_, "write", failure);
}

void OutputFile::flush() {
  write_at(at_, buffer_);
  at_ += std::ssize(buffer_);
  buffer_.clear();
}

void OutputFile::close(Sync sync) {
  flush();
  if (sync == Sync::waits && ::fsync(fd_) != 0 && errno != EINVAL) fail(path_, "sync", errno);
  if (::close(std::exchange(fd_, -1)) != 0) fail(path_, "close", errno);
}

}  // namespace triax
