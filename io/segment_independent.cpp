#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/block_file.hpp"
#include "io/segment_writer.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/device.hpp"

namespace triax {
namespace {

constexpr const char* remedy = "Check the disk's health, free space and quota";
constexpr std::int64_t page = BlockFile::alignment;

// Memory from which blocks go to the disk while the next are copied to it. What the system has not
// taken yet is waited for when its place is wanted again.
class Bounces {
 public:
  // The next place, free to be filled, and the request to be started from it.
  std::pair<std::byte*, BlockRequest*> next() {
    if (memory_.bytes() == 0) memory_ = Buffer(static_cast<std::size_t>(independent_bytes));
    at_ = (at_ + 1) % requests_.size();
    requests_[at_].wait();
    return {static_cast<std::byte*>(memory_.data()) + static_cast<std::int64_t>(at_) * bytes,
            &requests_[at_]};
  }
  void wait_all() {
    for (BlockRequest& request : requests_) request.wait();
  }

  static constexpr std::int64_t places = 4;
  static constexpr std::int64_t bytes = independent_bytes / places;

 private:
  Buffer memory_;
  std::array<BlockRequest, places> requests_;
  std::size_t at_ = 0;
};

// Opened when it is first written to. Whole pages of long segments go past the page cache, which
// costs more of the processor's time than the disk takes; the rest of them and short ones through
// it.
class SharedFile {
 public:
  explicit SharedFile(std::string path) : path_(std::move(path)) {}
  SharedFile(SharedFile&& other) noexcept
      : path_(std::move(other.path_)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        direct_(std::move(other.direct_)) {}
  SharedFile& operator=(SharedFile&&) = delete;
  ~SharedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void write(const DataSegment& segment, Bounces& bounces) {
    open();
    const std::int64_t end = segment.offset + segment.bytes;
    if (segment.bytes < long_segment) return write_cached(segment, segment.offset, end);
    const std::int64_t first = (segment.offset + page - 1) / page * page;
    const std::int64_t last = end / page * page;
    write_cached(segment, segment.offset, first);
    if (!direct_) direct_ = std::make_unique<BlockFile>(path_, BlockFile::Options());
    for (std::int64_t at = first; at < last;) {
      const std::int64_t bytes = std::min(last - at, Bounces::bytes);
      const auto [memory, request] = bounces.next();
      std::memcpy(memory, segment.memory + (at - segment.offset), static_cast<std::size_t>(bytes));
      *request = direct_->write(at, {memory, static_cast<std::size_t>(bytes)});
      at += bytes;
    }
    write_cached(segment, last, end);
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

  // Bytes [begin, end) of the file, which are the segment's.
  void write_cached(const DataSegment& segment, std::int64_t begin, std::int64_t end) const {
    while (begin < end) {
      const ssize_t written = ::pwrite(descriptor_, segment.memory + (begin - segment.offset),
                                       static_cast<std::size_t>(end - begin), begin);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0)
        throw Error(fmt::format("cannot write at byte {} of {}", begin, path_),
                    std::strerror(written < 0 ? errno : ENOSPC), remedy);
      begin += written;
    }
  }

  std::string path_;
  int descriptor_ = -1;
  std::unique_ptr<BlockFile> direct_;
};

class IndependentWriter final : public SegmentWriter {
 public:
  explicit IndependentWriter(std::vector<std::string> paths) {
    for (std::string& path : paths) files_.emplace_back(std::move(path));
  }
  void write(std::span<const DataSegment> segments) override {
    for (const DataSegment& segment : segments) files_[segment.file].write(segment, bounces_);
  }
  void finish() override {
    bounces_.wait_all();
    for (const SharedFile& file : files_) file.sync();
  }

 private:
  std::vector<SharedFile> files_;
  Bounces bounces_;  // after the files: its requests go to them
};

}  // namespace

std::unique_ptr<SegmentWriter> independent_writer(std::vector<std::string> paths) {
  return std::make_unique<IndependentWriter>(std::move(paths));
}

}  // namespace triax
