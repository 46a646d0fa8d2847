// SPDX-License-Identifier: Apache-2.0
// Library to preload into triax (LD_PRELOAD). Counts the calls that touch files below a directory,
// by kind, and makes some of them fail as a bad or full disk would, or wait. Environment variables:
//
// FAIL_BELOW: absolute path of the directory; without it nothing is done.
//
// FAIL_KIND: open, write, sync, rename, truncate, reserve, mkdir or close; without it calls are
// only counted.
//
// FAIL_NTH: the first affected call of that kind, counted from 1 by this process.
//
// FAIL_LAST: the last affected call; default FAIL_NTH.
//
// FAIL_ERROR: error number; 0 makes a write do half of its work, as on a disk that fills up;
// without it no call fails.
//
// FAIL_HOLD: a file; affected calls first wait until it exists, one minute at most.
//
// FAIL_RANK: the process with this PMI_RANK (0 if it is unset); default all processes.
//
// FAIL_THREAD: background counts only calls of threads other than the process's first.
//
// FAIL_LOG: file to which lines are appended: "held KIND PATH" when a call begins to wait, "failed
// KIND PATH" at each failure, "count RANK KIND CALLS" at the end of the process.
//
// Calls through io_uring are not seen. A close that fails has closed the file, as on Linux. Closing
// a file that was opened for reading only is neither failed nor counted.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace {

enum Kind : std::size_t {
  open_file,
  write_data,
  sync_data,
  rename_file,
  truncate_file,
  reserve,
  make_directory,
  close_file
};
constexpr std::array<std::string_view, 8> names = {"open",     "write",   "sync",  "rename",
                                                   "truncate", "reserve", "mkdir", "close"};

std::string variable(const char* name, const char* otherwise = "") {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

class Faults {
 public:
  Faults() {
    if (last_ == 0) last_ = nth_;
    if (const std::string only = variable("FAIL_RANK"); !only.empty() && only != rank_)
      kind_.clear();
  }
  void tell_counts() const {
    for (std::size_t kind = 0; kind < names.size(); ++kind)
      log("count " + rank_ + " " + std::string(names[kind]) + " " + std::to_string(calls_[kind]));
  }

  // Returns whether this call must fail, with errno set.
  bool fails(Kind kind, const std::string& path) {
    if (below_.empty() || !(path == below_ || path.starts_with(below_ + "/"))) return false;
    if (background_ && ::gettid() == ::getpid()) return false;
    const long call = ++calls_[kind];
    if (names[kind] != kind_ || call < nth_ || call > last_) return false;
    hold(path);
    if (error_.empty()) return false;
    log("failed " + kind_ + " " + path);
    errno = std::atoi(error_.c_str());
    return true;
  }
  bool fails(Kind kind, int file) {
    std::array<char, PATH_MAX> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    return ::readlink(link.c_str(), path.data(), path.size() - 1) > 0 &&
           fails(kind, std::string(path.data()));
  }
  bool fails_path(Kind kind, const char* path) {
    std::array<char, PATH_MAX> here{};
    if (*path == '/' || ::getcwd(here.data(), here.size()) == nullptr)
      return fails(kind, std::string(path));
    return fails(kind, std::string(here.data()) + "/" + path);
  }

 private:
  void hold(const std::string& path) const {
    if (hold_.empty()) return;
    log("held " + kind_ + " " + path);
    for (int waits = 0; waits < 6000 && ::access(hold_.c_str(), F_OK) != 0; ++waits)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  void log(const std::string& text) const {
    if (log_.empty() || below_.empty()) return;
    const int file =
        next<int(const char*, int, ...)>("open")(log_.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0644);
    const std::string line = text + "\n";
    if (file >= 0) (void)!next<decltype(::write)>("write")(file, line.data(), line.size());
    if (file >= 0) next<int(int)>("close")(file);
  }

  std::string below_ = variable("FAIL_BELOW"), kind_ = variable("FAIL_KIND"),
              log_ = variable("FAIL_LOG"), rank_ = variable("PMI_RANK", "0"),
              error_ = variable("FAIL_ERROR"), hold_ = variable("FAIL_HOLD");
  bool background_ = variable("FAIL_THREAD") == "background";
  long nth_ = std::atol(variable("FAIL_NTH").c_str()),
       last_ = std::atol(variable("FAIL_LAST").c_str());
  std::array<std::atomic<long>, names.size()> calls_{};
};

Faults& faults();

struct CountsAtTheEnd {
  ~CountsAtTheEnd() { faults().tell_counts(); }
};

Faults& faults() {
  static const CountsAtTheEnd counts;
  static Faults& all = *new Faults;  // never destroyed, because files are closed until the very end
  return all;
}

// Result of a write that must fail: -1 with errno, or half of the bytes written.
template <class Half>
ssize_t failed_write(Half half) {
  return errno == 0 ? half() : -1;
}

mode_t mode_of(int flags, va_list more) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
}

}  // namespace

// Every name that the C library has for open.
#define TRIAX_OPEN(name)                                               \
  int name(const char* path, int flags, ...) {                         \
    va_list more;                                                      \
    va_start(more, flags);                                             \
    const mode_t mode = mode_of(flags, more);                          \
    va_end(more);                                                      \
    if (faults().fails_path(open_file, path)) return -1;               \
    return next<int(const char*, int, ...)>(#name)(path, flags, mode); \
  }
#define TRIAX_OPEN_2(name)                                  \
  int name(const char* path, int flags) {                   \
    if (faults().fails_path(open_file, path)) return -1;    \
    return next<int(const char*, int)>(#name)(path, flags); \
  }
#define TRIAX_FOPEN(name)                                            \
  FILE* name(const char* path, const char* mode) {                   \
    if (faults().fails_path(open_file, path)) return nullptr;        \
    return next<FILE*(const char*, const char*)>(#name)(path, mode); \
  }
#define TRIAX_PWRITE(name)                                                      \
  ssize_t name(int file, const void* data, size_t bytes, off_t at) {            \
    const auto real = next<ssize_t(int, const void*, size_t, off_t)>(#name);    \
    if (!faults().fails(write_data, file)) return real(file, data, bytes, at);  \
    return failed_write([&] { return real(file, data, (bytes + 1) / 2, at); }); \
  }
#define TRIAX_PWRITEV(name)                                                      \
  ssize_t name(int file, const iovec* parts, int count, off_t at) {              \
    const auto real = next<ssize_t(int, const iovec*, int, off_t)>(#name);       \
    if (!faults().fails(write_data, file)) return real(file, parts, count, at);  \
    return failed_write([&] { return real(file, parts, (count + 1) / 2, at); }); \
  }
#define TRIAX_SYNC(name)                                                       \
  int name(int file) {                                                         \
    return faults().fails(sync_data, file) ? -1 : next<int(int)>(#name)(file); \
  }
#define TRIAX_FTRUNCATE(name)                                                                    \
  int name(int file, off_t bytes) noexcept {                                                     \
    return faults().fails(truncate_file, file) ? -1 : next<int(int, off_t)>(#name)(file, bytes); \
  }
#define TRIAX_FALLOCATE(name)                                               \
  int name(int file, int mode, off_t at, off_t bytes) {                     \
    if (faults().fails(reserve, file)) return -1;                           \
    return next<int(int, int, off_t, off_t)>(#name)(file, mode, at, bytes); \
  }
#define TRIAX_POSIX_FALLOCATE(name)                                                              \
  int name(int file, off_t at, off_t bytes) {                                                    \
    return faults().fails(reserve, file) ? errno                                                 \
                                         : next<int(int, off_t, off_t)>(#name)(file, at, bytes); \
  }

extern "C" {

TRIAX_OPEN(open)
TRIAX_OPEN(open64)
TRIAX_OPEN_2(__open_2)
TRIAX_OPEN_2(__open64_2)
TRIAX_FOPEN(fopen)
TRIAX_FOPEN(fopen64)
TRIAX_PWRITE(pwrite)
TRIAX_PWRITE(pwrite64)
TRIAX_PWRITEV(pwritev)
TRIAX_PWRITEV(pwritev64)
TRIAX_SYNC(fsync)
TRIAX_SYNC(fdatasync)
TRIAX_FTRUNCATE(ftruncate)
TRIAX_FTRUNCATE(ftruncate64)
TRIAX_FALLOCATE(fallocate)
TRIAX_FALLOCATE(fallocate64)
TRIAX_POSIX_FALLOCATE(posix_fallocate)
TRIAX_POSIX_FALLOCATE(posix_fallocate64)

ssize_t write(int file, const void* data, size_t bytes) {
  const auto real = next<ssize_t(int, const void*, size_t)>("write");
  if (!faults().fails(write_data, file)) return real(file, data, bytes);
  return failed_write([&] { return real(file, data, (bytes + 1) / 2); });
}

ssize_t writev(int file, const iovec* parts, int count) {
  const auto real = next<ssize_t(int, const iovec*, int)>("writev");
  if (!faults().fails(write_data, file)) return real(file, parts, count);
  return failed_write([&] { return real(file, parts, (count + 1) / 2); });
}

int sync_file_range(int file, off_t at, off_t bytes, unsigned flags) {
  if (faults().fails(sync_data, file)) return -1;
  return next<int(int, off_t, off_t, unsigned)>("sync_file_range")(file, at, bytes, flags);
}

int close(int file) {
  const int flags = ::fcntl(file, F_GETFL);
  const bool written = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
  const bool failed = written && faults().fails(close_file, file);
  const int error = errno;
  const int closed = next<int(int)>("close")(file);
  if (!failed) return closed;
  errno = error;
  return -1;
}

int rename(const char* from, const char* to) noexcept {
  if (faults().fails_path(rename_file, to)) return -1;
  return next<int(const char*, const char*)>("rename")(from, to);
}

int truncate(const char* path, off_t bytes) noexcept {
  if (faults().fails_path(truncate_file, path)) return -1;
  return next<int(const char*, off_t)>("truncate")(path, bytes);
}

int mkdir(const char* path, mode_t mode) noexcept {
  if (faults().fails_path(make_directory, path)) return -1;
  return next<int(const char*, mode_t)>("mkdir")(path, mode);
}

}  // extern "C"
