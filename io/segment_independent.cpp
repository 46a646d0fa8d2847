#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/segment_writer.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr const char* remedy = "Check the disk's health, free space and quota";

// Opened when it is first written to.
class SharedFile {
 public:
  explicit SharedFile(std::string path) : path_(std::move(path)) {}
  SharedFile(SharedFile&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  SharedFile& operator=(SharedFile&&) = delete;
  ~SharedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void write(const DataSegment& segment) {
    open();
    constexpr std::int64_t most = std::int64_t{8} << 20;
    for (std::int64_t done = 0; done < segment.bytes;) {
      const auto bytes = static_cast<std::size_t>(std::min(segment.bytes - done, most));
      const ssize_t written =
          ::pwrite(descriptor_, segment.memory + done, bytes, segment.offset + done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0)
        throw Error(fmt::format("cannot write at byte {} of {}", segment.offset + done, path_),
                    std::strerror(written < 0 ? errno : ENOSPC), remedy);
      done += written;
      waiting_ += written;
      if (waiting_ < most) continue;
      // The disk begins now rather than when all is in the page cache. Only a hint: sync() is what
      // tells of failures.
      (void)::sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE);
      waiting_ = 0;
    }
  }

  void sync() const {
    if (descriptor_ >= 0 && ::fdatasync(descriptor_) != 0)
      throw Error("cannot sync " + path_ + " to disk", std::strerror(errno), remedy);
  }

 private:
  void open() {
    if (descriptor_ >= 0) return;
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0)
      throw Error("cannot write " + path_, std::strerror(errno),
                  "Check that checkpoint.directory is the same on every node");
  }

  std::string path_;
  int descriptor_ = -1;
  std::int64_t waiting_ = 0;  // bytes that the disk was not yet told of
};

class IndependentWriter final : public SegmentWriter {
 public:
  explicit IndependentWriter(std::vector<std::string> paths) {
    for (std::string& path : paths) files_.emplace_back(std::move(path));
  }
  void write(std::span<const DataSegment> segments) override {
    for (const DataSegment& segment : segments) files_[segment.file].write(segment);
  }
  void finish() override {
    for (const SharedFile& file : files_) file.sync();
  }

 private:
  std::vector<SharedFile> files_;
};

}  // namespace

std::unique_ptr<SegmentWriter> independent_writer(std::vector<std::string> paths) {
  return std::make_unique<IndependentWriter>(std::move(paths));
}

}  // namespace triax
