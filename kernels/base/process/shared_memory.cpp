// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/process/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/base/process/host_name.hpp"

namespace triax {
namespace {

// Indices into a Name: the owner's pid and file descriptor, the device and inode number of the
// file, and the Home from `place` on. The device and inode identify a file within one kernel, a pid
// a process within one namespace.
enum : std::size_t { process, descriptor, device, number, place };

std::int64_t number_of(std::string_view text) {
  std::uint64_t bits = 0;
  for (const char c : text) bits = bits * 1099511628211U + static_cast<unsigned char>(c);
  return static_cast<std::int64_t>(bits);
}

SharedMemory::Name named(std::int64_t owner, std::int64_t file, const struct stat& status) {
  const SharedMemory::Home home = SharedMemory::home();
  SharedMemory::Name name{};
  name[process] = owner;
  name[descriptor] = file;
  name[device] = static_cast<std::int64_t>(status.st_dev);
  name[number] = static_cast<std::int64_t>(status.st_ino);
  std::copy(home.begin(), home.end(), name.begin() + place);
  return name;
}

// Some systems require that such a file can never be executed (vm.memfd_noexec); kernels before 6.3
// do not know that flag and return EINVAL.
int create(const char* label) {
  constexpr unsigned not_executable = 8;  // MFD_NOEXEC_SEAL, which older headers lack
  const int file = ::memfd_create(label, MFD_CLOEXEC | not_executable);
  return file >= 0 || errno != EINVAL ? file : ::memfd_create(label, MFD_CLOEXEC);
}

// Identifies the kernel this process runs on: a random number drawn when it started.
std::string this_boot() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return boot.empty() ? host_name() : boot;  // boot_id is hidden from this process
}

}  // namespace

// Read on every call: a process may move to another namespace.
SharedMemory::Home SharedMemory::home() {
  const std::string boot = this_boot();
  std::array<char, 64> space{};  // "pid:[4026531836]"
  const ssize_t length = ::readlinkat(AT_FDCWD, "/proc/self/ns/pid", space.data(), space.size());
  return {number_of(boot),
          number_of({space.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))})};
}

SharedMemory SharedMemory::make(const char* label, std::size_t bytes) {
  SharedMemory made;
  made.file_ = create(label);
  struct stat status {};
  int error = made.file_ >= 0 && ::fstat(made.file_, &status) == 0 ? 0 : errno;
  if (error == 0) do
      error = ::posix_fallocate(made.file_, 0, static_cast<off_t>(bytes));
    while (error == EINTR);
  made.error_ = error;
  if (error == 0) made.map(made.file_, bytes);
  if (made.error_ != 0)
    made.close_to_others();
  else
    made.name_ = named(::getpid(), made.file_, status);
  return made;
}

SharedMemory SharedMemory::open(const Name& name, std::size_t bytes) {
  SharedMemory opened;
  const std::string path = fmt::format("/proc/{}/fd/{}", name[process], name[descriptor]);
  struct stat status {};
  const Home here = home();
  if (!std::equal(here.begin(), here.end(), name.begin() + place))
    opened.error_ = ESRCH;
  else if (::stat(path.c_str(), &status) != 0)
    opened.error_ = errno;
  else if (named(name[process], name[descriptor], status) != name)
    opened.error_ = ESRCH;
  if (opened.error_ != 0) return opened;
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    opened.error_ = errno;
    return opened;
  }
  opened.map(file, bytes);
  ::close(file);
  if (opened.error_ == 0) opened.name_ = name;
  return opened;
}

void SharedMemory::map(int file, std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    error_ = errno;
    return;
  }
  data_ = static_cast<std::byte*>(memory);
  bytes_ = bytes;
}

void SharedMemory::close_to_others() {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

SharedMemory::~SharedMemory() {
  close_to_others();
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

void SharedMemory::swap(SharedMemory& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(name_, other.name_);
  std::swap(file_, other.file_);
  std::swap(error_, other.error_);
}

}  // namespace triax
