// SPDX-License-Identifier: Apache-2.0
#pragma once
// The limit that checkpoints are compared with.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "benchmarks/io/checkpoint_state.hpp"
#include "kernels/base/check.hpp"

namespace triax {

/// The hand-written reference: each rank writes or reads its range of a new file past the page
/// cache.
class PlainFile {
 public:
  /// bytes: size of the file, rounded to whole pages for O_DIRECT.
  PlainFile(const std::string& path, const World& world, std::int64_t bytes)
      : path_(path),
        pages_(bytes / page),
        begin_(pages_ * world.rank / world.size * page),
        end_(pages_ * (world.rank + 1) / world.size * page) {
    benchmark::fill_random_bits(memory_, static_cast<std::uint64_t>(world.rank));
  }
  ~PlainFile() { ::unlink(path_.c_str()); }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  const std::string& path() const { return path_; }
  std::int64_t bytes() const { return pages_ * page; }  // on all ranks
  std::int64_t begin() const { return begin_; }         // of this rank's range
  std::int64_t end() const { return end_; }

  void run(bool write) {
    const int fd = ::open(path_.c_str(), (write ? O_CREAT | O_WRONLY : O_RDONLY) | O_DIRECT, 0666);
    if (fd < 0) throw Error("no O_DIRECT for " + path_, "", "Choose a directory on a disk");
    // Reserves space as CheckpointWriter does. posix_fallocate would write to each page if the file
    // system cannot reserve.
    if (write && begin_ < end_) (void)::fallocate(fd, 0, begin_, end_ - begin_);
    for (std::int64_t at = begin_; at < end_; at += block) {
      const auto length = static_cast<std::size_t>(std::min(block, end_ - at));
      const ssize_t moved = write ? ::pwrite(fd, memory_.data(), length, at)
                                  : ::pread(fd, memory_.data(), length, at);
      check(moved == static_cast<ssize_t>(length), "a short block");
    }
    if (write) check(::fdatasync(fd) == 0, "sync");
    ::close(fd);
  }

 private:
  static constexpr std::int64_t page = 4096;
  static constexpr std::int64_t block = std::int64_t{16} << 20;
  std::string path_;
  std::int64_t pages_, begin_, end_;
  Buffer memory_{static_cast<std::size_t>(block)};
};

}  // namespace triax
