#include "io/hdf5_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "io/durable.hpp"
#include "kernels/base/check.hpp"

namespace triax::hdf5 {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw Error("cannot write " + path, std::strerror(errno),
              "Check the disk's health, free space and quota");
}

class Output {
 public:
  explicit Output(const std::string& path) : path_(path), fd_(open(path)) {}
  ~Output() { ::close(fd_); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(const char* data, std::size_t bytes, off_t at) const {
    while (bytes > 0) {
      const ssize_t written = ::pwrite(fd_, data, bytes, at);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail(path_);
      data += written;
      bytes -= static_cast<std::size_t>(written);
      at += written;
    }
  }
  void set_length(off_t bytes) const {
    if (::ftruncate(fd_, bytes) != 0) fail(path_);
  }

 private:
  static int open(const std::string& path) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) fail(path);
    return fd;
  }
  std::string path_;
  int fd_;
};

}  // namespace

FileInMemory::FileInMemory(File::Mode mode, const FileHints& hints)
    : memory_(::memfd_create("triax checkpoint", MFD_CLOEXEC)),
      path_(fmt::format("/proc/self/fd/{}", memory_)) {
  if (memory_ < 0)
    throw Error("no memory for the structure of a file", std::strerror(errno),
                "Raise the limit of open files");
  try {
    file_.emplace(path_, mode, MPI_COMM_NULL, hints);
  } catch (...) {
    ::close(memory_);
    throw;
  }
}

FileInMemory::~FileInMemory() {
  file_.reset();
  ::close(memory_);
}

void FileInMemory::close() {
  file_->close();
  file_.reset();
}

void FileInMemory::put_into(const std::string& path) const {
  const off_t length = ::lseek(memory_, 0, SEEK_END);
  reserve_space(path, length);
  const Output out(path);
  out.set_length(length);
  std::vector<char> part(std::size_t{1} << 20);
  for (off_t at = 0; (at = ::lseek(memory_, at, SEEK_DATA)) >= 0 && at < length;) {
    const off_t end = ::lseek(memory_, at, SEEK_HOLE);
    while (at < end) {
      const auto wanted = std::min(part.size(), static_cast<std::size_t>(end - at));
      const ssize_t got = ::pread(memory_, part.data(), wanted, at);
      check(got > 0, "{} cannot be read back", path_);
      out.write(part.data(), static_cast<std::size_t>(got), at);
      at += got;
    }
  }
}

}  // namespace triax::hdf5
