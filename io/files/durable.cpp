// SPDX-License-Identifier: Apache-2.0
#include "io/files/durable.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC)) {
    if (fd_ < 0) throw Error("cannot open " + path, std::strerror(errno), "Check its permissions");
  }
  ~Descriptor() { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

std::string directory_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

void sync_path(const std::string& path) {
  const Descriptor file(path, O_RDONLY);
  // EINVAL: the file system cannot sync this, for example a directory.
  if (::fsync(file.get()) != 0 && errno != EINVAL)
    throw Error("cannot sync " + path + " to disk", std::strerror(errno),
                "Check the disk's health, free space and quota");
}

namespace {

// Returns 0 or errno.
int rename_to_new(const char* from, const char* to) {
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;  // EINVAL, ENOSYS: not supported here
  struct stat there {};
  if (::lstat(to, &there) == 0) return EEXIST;
  return std::rename(from, to) == 0 ? 0 : errno;
}

}  // namespace

void rename_path(const std::string& from, const std::string& to, Existing existing) {
  int failure = 0;
  if (existing == Existing::kept)
    failure = rename_to_new(from.c_str(), to.c_str());
  else if (std::rename(from.c_str(), to.c_str()) != 0)
    failure = errno;
  if (failure == EEXIST)
    throw Error(to + " is there already", "it was created during this write",
                "Give another name, or remove it");
  if (failure != 0)
    throw Error("cannot rename " + from + " to " + to, std::strerror(failure),
                "Check the directory's permissions");
}

void rename_durably(const std::string& from, const std::string& to, Existing existing) {
  rename_path(from, to, existing);
  sync_path(directory_of(to));
}

void write_durably(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  errno = 0;
  std::ofstream file(temporary, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    const std::string why = std::strerror(errno);
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw Error("cannot write " + path, why,
                "Check free space, quota and permissions of its directory");
  }
  sync_path(temporary);
  rename_durably(temporary, path);
}

int write_all(int file, std::span<const std::byte> data, std::int64_t& at) noexcept {
  while (!data.empty()) {
    const ssize_t written = ::pwrite(file, data.data(), data.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    data = data.subspan(static_cast<std::size_t>(written));
    at += written;
  }
  return 0;
}

namespace {

// Free bytes of the file system for this user; nothing where it does not report them.
std::optional<std::int64_t> room_at(int file) {
  struct statvfs disk {};
  if (::fstatvfs(file, &disk) != 0 || disk.f_blocks == 0) return {};
  return static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize);
}

[[noreturn]] void fail_for_room(const std::string& path, int failure, std::int64_t bytes,
                                std::int64_t room, std::int64_t missing) {
  throw Error(
      fmt::format("no room for {}", path),
      fmt::format("{}: it needs {} bytes, the file system has {} free{}", std::strerror(failure),
                  bytes, room, missing > 0 ? fmt::format(", {} are missing", missing) : ""),
      failure == EFBIG ? "Raise the limit on the size of files (ulimit -f)"
                       : "Free space, raise the quota, or choose another directory");
}

}  // namespace

void reserve_space(const std::string& path, std::int64_t bytes) {
  if (bytes == 0) return;
  const Descriptor file(path, O_WRONLY);
  struct stat status {};
  const auto room = room_at(file.get());
  const bool known = room && ::fstat(file.get(), &status) == 0;
  constexpr std::int64_t stat_block = 512;
  const std::int64_t missing = known ? bytes - *room - status.st_blocks * stat_block : 0;
  // A reservation that cannot succeed is not tried: it would fill the disk before it fails.
  int failure = missing > 0 ? ENOSPC : EINTR;
  while (failure == EINTR) failure = ::fallocate(file.get(), 0, 0, bytes) == 0 ? 0 : errno;
  if (failure == ENOSPC || failure == EDQUOT || failure == EFBIG)
    fail_for_room(path, failure, bytes, room.value_or(0), missing);
}

void require_room(const std::string& directory, std::int64_t bytes) {
  const Descriptor place(directory, O_RDONLY | O_DIRECTORY);
  const auto room = room_at(place.get());
  if (room && *room < bytes) fail_for_room(directory, ENOSPC, bytes, *room, bytes - *room);
}

}  // namespace triax
