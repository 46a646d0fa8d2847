// SPDX-License-Identifier: Apache-2.0
// Gzip files by zlib's inflate(): its own gzread() does not report a truncated file.
#include <zlib.h>

#include <vector>

#include "io/documents/byte_source.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

class GzipSource : public ByteSource {
 public:
  explicit GzipSource(const std::string& path) : path_(path), file_(open_plain(path, 0)) {
    constexpr int gzip_window = 15 + 16;  // the largest window, with gzip's header
    if (inflateInit2(&stream_, gzip_window) != Z_OK)
      throw Error("cannot decompress " + path, "zlib has no memory", "Free memory");
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(std::span<char> out) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (stream_.avail_out == out.size()) {
      if (stream_.avail_in == 0 && !refill()) break;
      if (ended_ && !begin_member()) break;
      const int result = inflate(&stream_, Z_NO_FLUSH);
      ended_ = result == Z_STREAM_END;
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        throw Error(path_ + " is damaged",
                    fmt::format("zlib, at byte {} of the compressed file: {}",
                                taken_ - static_cast<std::int64_t>(stream_.avail_in),
                                stream_.msg != nullptr ? stream_.msg : "no valid data"),
                    "Fetch the file again (gzip -t FILE checks it)");
    }
    return out.size() - stream_.avail_out;
  }

  std::int64_t taken() const override { return taken_; }

 private:
  // False at the end of the file.
  bool refill() {
    const std::size_t count = file_->read(input_);
    if (count == 0 && !ended_)
      throw Error(path_ + " is truncated",
                  fmt::format("its {} bytes end within the compressed data", taken_),
                  "Fetch the whole file again (gzip -t FILE checks it)");
    taken_ += static_cast<std::int64_t>(count);
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(count);
    return count > 0;
  }

  // Begins the next member. Zeros that pad the file to blocks of a tape are no member: false.
  bool begin_member() {
    if (*stream_.next_in == 0) {
      stream_.avail_in = 0;
      return false;
    }
    ended_ = false;
    return inflateReset(&stream_) == Z_OK;
  }

  std::string path_;
  std::unique_ptr<ByteSource> file_;
  std::vector<char> input_ = std::vector<char>(std::size_t{256} << 10);
  std::int64_t taken_ = 0;  // bytes of the compressed file
  bool ended_ = false;      // a member ended just now
  z_stream stream_{};
};

}  // namespace

std::unique_ptr<ByteSource> open_gzip(const std::string& path) {
  return std::make_unique<GzipSource>(path);
}

}  // namespace triax
