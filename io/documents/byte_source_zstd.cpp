// SPDX-License-Identifier: Apache-2.0
#include <zstd.h>

#include <vector>

#include "io/documents/byte_source.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

class ZstdSource : public ByteSource {
 public:
  explicit ZstdSource(const std::string& path)
      : path_(path), file_(open_plain(path, 0)), stream_(ZSTD_createDStream()) {
    // Windows of `zstd --long=31` and below: a larger one than 8 MiB is rare, and takes its size.
    constexpr int largest_window_log = 31;
    if (stream_ == nullptr ||
        ZSTD_isError(ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, largest_window_log)) != 0)
      throw Error("cannot decompress " + path, "zstd has no memory", "Free memory");
  }
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;

  std::size_t read(std::span<char> out) override {
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    while (output.pos == 0) {
      const bool at_end = input_.pos == input_.size && !refill();
      if (at_end && !within_frame_) break;
      const std::size_t result = ZSTD_decompressStream(stream_, &output, &input_);
      if (ZSTD_isError(result) != 0)
        throw Error(path_ + " is damaged",
                    fmt::format("zstd, near byte {} of the compressed file: {}", taken_,
                                ZSTD_getErrorName(result)),
                    "Fetch the file again (zstd -t FILE checks it)");
      within_frame_ = result != 0;
      if (at_end && within_frame_ && output.pos == 0)
        throw Error(path_ + " is truncated",
                    fmt::format("its {} bytes end within a compressed frame", taken_),
                    "Fetch the whole file again (zstd -t FILE checks it)");
    }
    return output.pos;
  }

  std::int64_t taken() const override { return taken_; }

 private:
  // False at the end of the file.
  bool refill() {
    const std::size_t count = file_->read(buffer_);
    if (count == 0) return false;
    taken_ += static_cast<std::int64_t>(count);
    input_ = {buffer_.data(), count, 0};
    return true;
  }

  std::string path_;
  std::unique_ptr<ByteSource> file_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{256} << 10);
  std::int64_t taken_ = 0;  // bytes of the compressed file
  bool within_frame_ = false;
  ZSTD_inBuffer input_{};
  ZSTD_DStream* stream_;
};

}  // namespace

std::unique_ptr<ByteSource> open_zstd(const std::string& path) {
  return std::make_unique<ZstdSource>(path);
}

}  // namespace triax
