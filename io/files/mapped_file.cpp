// SPDX-License-Identifier: Apache-2.0
#include "io/files/mapped_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "kernels/base/check.hpp"
#include "kernels/base/exit_status.hpp"

namespace triax {

static_assert(std::endian::native == std::endian::little,
              "the file formats of io/ are little-endian");

namespace {
[[noreturn]] void fail(const std::string& path, int error) {
  throw Error("cannot read " + path, std::strerror(error), "Check the path and its permissions");
}

[[noreturn]] void fail_for_kind(int fd, const std::string& path) {
  ::close(fd);
  throw Error("cannot read " + path, "it is a pipe or a device, and must be a regular file",
              "Save its output to a file, and name that file");
}

// The functions below run in a signal handler: they must not allocate.

// Whether a line of /proc/self/maps ("7f00-7f10 r--s 00000000 08:01 42 /data/tokens") covers
// `address`.
bool holds(const char* line, std::uintptr_t address) {
  std::array<std::uintptr_t, 2> range{};  // begin, end
  for (std::size_t of = 0; of < range.size(); ++of, ++line)
    for (; (*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f'); ++line)
      range[of] = range[of] * 16 +
                  static_cast<std::uintptr_t>(*line <= '9' ? *line - '0' : *line - 'a' + 10);
  return range[0] <= address && address < range[1];
}

// Finds the mapping of `address` in /proc/self/maps and stores its file name in `name`.
void find_mapping(std::uintptr_t address, std::span<char> name) {
  name[0] = '\0';
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  std::array<char, 4096> line{};
  std::size_t length = 0;
  for (char byte = 0; ::read(maps, &byte, 1) == 1;) {
    if (byte != '\n') {
      if (length + 1 < line.size()) line[length++] = byte;
      continue;
    }
    line[length] = '\0';
    length = 0;
    const char* const path = std::strchr(line.data(), '/');
    if (path == nullptr || !holds(line.data(), address)) continue;
    std::strncpy(name.data(), path, name.size() - 1);
    break;
  }
  ::close(maps);
}

// Whether a mapping of this name is shared memory or huge pages, not a file on a disk.
bool is_memory(const char* name) {
  for (const char* const begin :
       {"/dev/shm/", "/dev/hugepages/", "/memfd:", "/anon_hugepage", "/SYSV"})
    if (std::strncmp(name, begin, std::strlen(begin)) == 0) return true;
  return false;
}

// Prints "triax: <problem> <name> (<why>). <what to do>", the form of an Error, and exits.
[[noreturn]] void end_with(std::initializer_list<const char*> texts) {
  for (const char* const text : texts) (void)!::write(STDERR_FILENO, text, std::strlen(text));
  ::_exit(run_time_failure);
}

void end_of_unreadable(int signal, siginfo_t* what, void*) {
  std::array<char, 4096> name{};
  find_mapping(reinterpret_cast<std::uintptr_t>(what->si_addr), name);
  if (name[0] == '\0') {  // not a file: the default action
    ::signal(signal, SIG_DFL);
    return;
  }
  if (is_memory(name.data()))
    end_with({"triax: no memory for a page of ", name.data(),
              " (shared memory or huge pages are exhausted). Give the job more /dev/shm or huge "
              "pages, then rerun: a run resumes from its newest checkpoint\n"});
  end_with({"triax: cannot read ", name.data(),
            " (a page is not readable: a disk error, or the file was made shorter during use). ",
            unreadable_remedy, "\n"});
}
}  // namespace

void name_unreadable_files() {
  struct sigaction action {};
  action.sa_sigaction = end_of_unreadable;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

MappedFile::MappedFile(const std::string& path) : path_(path) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail(path, errno);
  struct stat status {};
  int error = ::fstat(fd, &status) != 0 ? errno : 0;
  if (error == 0 && S_ISDIR(status.st_mode)) error = EISDIR;
  if (error == 0 && !S_ISREG(status.st_mode)) fail_for_kind(fd, path);
  length_ = FileLength(path, status);
  if (error == 0 && status.st_size > 0) {
    size_ = static_cast<std::size_t>(status.st_size);
    void* const at = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
      error = errno;
    else
      data_ = static_cast<const std::byte*>(at);
  }
  ::close(fd);
  if (error != 0) fail(path, error);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::drop() const {
  if (data_ != nullptr) ::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      length_(std::move(other.length_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

}  // namespace triax
