// SPDX-License-Identifier: Apache-2.0
#include "io/documents/byte_source.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "io/hub/lfs_pointer.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

class PlainSource : public ByteSource {
 public:
  PlainSource(const std::string& path, std::int64_t begin)
      : path_(path), at_(begin), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0)
      throw Error("cannot open " + path, std::strerror(errno),
                  "Check the path and its permissions on every node");
  }
  ~PlainSource() override { ::close(fd_); }
  PlainSource(const PlainSource&) = delete;
  PlainSource& operator=(const PlainSource&) = delete;

  std::size_t read(std::span<char> out) override {
    ssize_t count = 0;
    do count = ::pread(fd_, out.data(), out.size(), at_);
    while (count < 0 && errno == EINTR);
    if (count < 0)
      throw Error("cannot read " + path_, fmt::format("at byte {}: {}", at_, std::strerror(errno)),
                  "Check the file and its file system");
    at_ += count;
    taken_ += count;
    return static_cast<std::size_t>(count);
  }
  std::int64_t taken() const override { return taken_; }

 private:
  std::string path_;
  std::int64_t at_;
  std::int64_t taken_ = 0;
  int fd_;
};

}  // namespace

Compression compression_of(const std::string& path) {
  using namespace std::string_view_literals;
  refuse_lfs_pointer(path);
  std::array<char, 4> head{};
  const std::size_t count = PlainSource(path, 0).read(head);
  const std::string_view magic(head.data(), count);
  if (magic.starts_with("\x1f\x8b"sv)) return Compression::gzip;
  return magic == "\x28\xb5\x2f\xfd"sv ? Compression::zstd : Compression::none;
}

std::unique_ptr<ByteSource> open_plain(const std::string& path, std::int64_t begin) {
  return std::make_unique<PlainSource>(path, begin);
}

std::unique_ptr<ByteSource> open_bytes(const std::string& path, Compression compression) {
  switch (compression) {
    case Compression::gzip:
      return open_gzip(path);
    case Compression::zstd:
      return open_zstd(path);
    case Compression::none:
      break;
  }
  return open_plain(path, 0);
}

}  // namespace triax
