#include "io/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "kernels/base/check.hpp"
#include "kernels/base/host_name.hpp"

namespace triax {
namespace {

std::string this_process() {
  return fmt::format("process {} on {}\n", getpid(), host_name());
}

// What the holder wrote; it may be about to.
std::string holder_of(int fd) {
  std::array<char, 512> text{};
  const ssize_t length = ::pread(fd, text.data(), text.size() - 1, 0);
  const std::string line(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return line.empty() ? "an unnamed process" : line.substr(0, line.find('\n'));
}

// 0 where the lock is held now, or why it is not.
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

// Whether the name leads to the open file still: the holder before may have removed it, and a third
// may lock a new one. Names are compared, not counted: a network file system may say late that a
// file has lost its last one.
bool has_its_name(int fd, const std::string& path) {
  struct stat file {};
  struct stat named {};
  return ::fstat(fd, &file) == 0 && ::stat(path.c_str(), &named) == 0 &&
         file.st_dev == named.st_dev && file.st_ino == named.st_ino && file.st_nlink > 0;
}

}  // namespace

FileLock::FileLock(std::string path, const std::string& held, const std::string& remedy,
                   std::chrono::milliseconds patience, Leaves leaves)
    : path_(std::move(path)), leaves_(leaves) {
  while (true) {
    // NFS makes of flock a lock of the whole file, which must be open for writing.
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
    if (failure == 0) continue;
    refusal_ = fmt::format("cannot lock {}: {}", path_, std::strerror(failure));
    return;
  }
  const std::string text = this_process();
  // For the reader alone: the lock holds whether or not its text could be written.
  if (::ftruncate(fd_, 0) == 0) (void)!::pwrite(fd_, text.data(), text.size(), 0);
}

FileLock::~FileLock() {
  if (fd_ < 0) return;
  // A run's stays: where a network file system does not say at once that a file has lost its name,
  // two runs could hold locks that know nothing of each other.
  if (leaves_ == Leaves::nothing)
    ::unlink(path_.c_str());
  else
    (void)!::ftruncate(fd_, 0);
  ::close(fd_);
}

}  // namespace triax
