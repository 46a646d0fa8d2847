#include "kernels/base/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <utility>

namespace triax {
namespace {

// In a Name: whose file it is, and which file that must be.
enum : std::size_t { process, descriptor, device, number, machine };

// The number that the kernel drew when it started. A file is known by its device and number on one
// kernel only.
std::array<std::int64_t, 2> this_machine() {
  std::string text, digits;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), text);
  for (const char c : text)
    if (c != '-') digits += c;
  const auto part = [&](std::size_t from) {
    std::uint64_t bits = 0;
    for (std::size_t at = from; at < from + 16 && at < digits.size(); ++at)
      bits = bits * 31 + static_cast<unsigned char>(digits[at]);
    return static_cast<std::int64_t>(bits);
  };
  return {part(0), part(16)};
}

SharedMemory::Name named(std::int64_t owner, std::int64_t file, const struct stat& status) {
  const auto boot = this_machine();
  SharedMemory::Name name{};
  name[process] = owner;
  name[descriptor] = file;
  name[device] = static_cast<std::int64_t>(status.st_dev);
  name[number] = static_cast<std::int64_t>(status.st_ino);
  name[machine] = boot[0];
  name[machine + 1] = boot[1];
  return name;
}

}  // namespace

SharedMemory SharedMemory::make(const char* label, std::size_t bytes) {
  SharedMemory made;
  made.file_ = ::memfd_create(label, MFD_CLOEXEC);
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
  const auto boot = this_machine();
  if (name[machine] != boot[0] || name[machine + 1] != boot[1])
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
