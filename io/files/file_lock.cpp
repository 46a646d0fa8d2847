// SPDX-License-Identifier: Apache-2.0
#include "io/files/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "kernels/base/check.hpp"
#include "kernels/base/process/host_name.hpp"
#include "kernels/base/process/mount.hpp"

namespace triax {
namespace {

std::string this_process() {
  return fmt::format("process {} on {}\n", getpid(), host_name());
}

// The holder's text. It may be empty: the holder writes it after it has locked.
std::string holder_of(int fd) {
  std::array<char, 512> text{};
  const ssize_t length = ::pread(fd, text.data(), text.size() - 1, 0);
  const std::string line(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return line.empty() ? "an unnamed process" : line.substr(0, line.find('\n'));
}

// Returns 0 when the lock is held, else errno.
int lock(int fd, std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds pause{100};
  const Clock::time_point end = Clock::now() + patience;
  while (true) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return 0;
    const int failure = errno;
    if (failure == EWOULDBLOCK && Clock::now() < end)
      std::this_thread::sleep_for(pause);
    else if (failure != EINTR)
      return failure;
  }
}

// Whether the path still names the open file: the previous holder may have removed it, and a third
// process may lock a new one. Inodes are compared, as a network file system may report the link
// count late.
bool has_its_name(int fd, const std::string& path) {
  struct stat file {};
  struct stat named {};
  return ::fstat(fd, &file) == 0 && ::stat(path.c_str(), &named) == 0 &&
         file.st_dev == named.st_dev && file.st_ino == named.st_ino && file.st_nlink > 0;
}

}  // namespace

std::string node_local_locks(const std::string& path, std::istream& mounts) {
  std::string found;
  std::istringstream each(mount_of(path, mounts).options);
  for (std::string option; std::getline(each, option, ',');)
    if (option == "localflock" || option == "nolock" || option == "local_lock=all" ||
        option == "local_lock=flock")
      found = option;
  return found;
}

FileLock::FileLock(std::string path, const std::string& held, const std::string& remedy,
                   std::chrono::milliseconds patience, Leaves leaves)
    : path_(std::move(path)), leaves_(leaves) {
  constexpr int most_names = 100;
  for (int names = 1;; ++names) {
    // NFS implements flock by a lock of the whole file, which must be open for writing.
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) {
      refusal_ = fmt::format("cannot open {}: {}", path_, std::strerror(errno));
      return;
    }
    const int failure = lock(fd_, patience);
    if (failure == 0 && has_its_name(fd_, path_)) break;
    const std::string holder = holder_of(fd_);
    ::close(fd_);
    fd_ = -1;
    if (failure == EWOULDBLOCK) throw Error(held, holder, remedy);
    if (failure == 0 && names < most_names) continue;
    refusal_ = failure == 0
                   ? fmt::format("{} is replaced by another file at each attempt to lock it", path_)
                   : fmt::format("cannot lock {}: {}", path_, std::strerror(failure));
    return;
  }
  std::error_code unknown;
  std::ifstream mounts("/proc/self/mounts");
  const std::string real = std::filesystem::canonical(path_, unknown).string();
  if (const std::string option = node_local_locks(real, mounts); !option.empty())
    refusal_ = fmt::format(
        "the lock {} holds on this node only (its file system is mounted with {})", path_, option);
  const std::string text = this_process();
  const std::string before = holder_of(fd_);
  if (before.find(" on ") != before.npos && !before.ends_with(" on " + host_name()))
    left_by_ = before;
  // The text is for people: the lock holds even if it cannot be written.
  if (::ftruncate(fd_, 0) == 0) (void)!::pwrite(fd_, text.data(), text.size(), 0);
}

FileLock::~FileLock() {
  if (fd_ < 0) return;
  // The lock file of a run directory stays: on a network file system that reports a removal late,
  // two runs could hold locks on two different files.
  if (leaves_ == Leaves::nothing)
    ::unlink(path_.c_str());
  else
    (void)!::ftruncate(fd_, 0);
  ::close(fd_);
}

}  // namespace triax
