// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "io/checkpoint/write/segment_writer.hpp"
#include "io/direct/block_file.hpp"
#include "io/files/durable.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/device/device.hpp"
#include "kernels/base/mpi/first_failure.hpp"

namespace triax {
namespace {

constexpr const char* remedy = "Check the disk's health, free space and quota";
constexpr std::int64_t page = BlockFile::alignment;
// Bytes per I/O operation: larger than elsewhere, as each one is expensive on a virtual disk.
constexpr std::int64_t block_bytes = std::int64_t{4} << 20;

// Memory that pages are written from: gather slots, or the caller's memory.
enum class Source : std::uint8_t { place, memory };

// Write operations in flight. A virtual disk may report completions only when it is idle: half of
// the gather slots are then filled and follow at once, while slots still to be filled would leave
// the disk idle. Pages of the caller's memory need no filling, so more may be in flight.
constexpr int most_at_once(Source source) {
  return source == Source::place ? independent_parts / 2 : 8;
}

// Bytes for a file, from byte `offset` on.
struct Bytes {
  std::int64_t offset;
  std::span<const std::byte> memory;

  std::int64_t end() const { return offset + std::ssize(memory); }
  Bytes part(std::int64_t first, std::int64_t last) const {
    return {first, memory.subspan(static_cast<std::size_t>(first - offset),
                                  static_cast<std::size_t>(last - first))};
  }
};

// A file that is opened at its first write.
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

  void write_cached(const Bytes& bytes) {
    open();
    std::int64_t at = bytes.offset;
    if (const int error = write_all(descriptor_, bytes.memory, at); error != 0)
      throw Error(fmt::format("cannot write at byte {} of {}", at, path_), std::strerror(error),
                  remedy);
  }

  // Starts writing whole pages past the page cache. They must not change until the request is done.
  BlockRequest write_direct(const Bytes& pages, Source source) {
    open();
    std::unique_ptr<BlockFile>& direct = direct_[static_cast<std::size_t>(source)];
    BlockFile::Options options;
    options.block_bytes = block_bytes;
    options.queue_depth = most_at_once(source);
    options.thread = false;
    if (!direct) direct = std::make_unique<BlockFile>(path_, options);
    return direct->write(pages.offset, pages.memory);
  }

  void sync() const {
    // EINVAL: the file system has no sync.
    if (descriptor_ >= 0 && ::fdatasync(descriptor_) != 0 && errno != EINVAL)
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
  std::array<std::unique_ptr<BlockFile>, 2> direct_;  // indexed by Source
};

// Gather slots: memory where adjoining segments of a file are collected. A full slot is written
// while the next one is filled; before a slot is reused, its write is waited for.
class Places {
 public:
  static constexpr std::int64_t count = independent_parts;
  static constexpr std::int64_t bytes = independent_bytes / count;
  static_assert(bytes == block_bytes && bytes % page == 0 && bytes >= long_segment);

  explicit Places(GatherMemory& memory) : memory_(memory) {}
  static void take(Buffer& part) {
    if (part.bytes() == 0) part = Buffer::unwritten(static_cast<std::size_t>(bytes));
  }

  // A free slot: the last one if it is not being written, else the next.
  std::byte* next() {
    if (requests_[at_].pending()) at_ = (at_ + 1) % requests_.size();
    requests_[at_].wait();
    take(memory_[at_]);
    return static_cast<std::byte*>(memory_[at_].data());
  }
  // Keeps the request that writes the slot that next() returned last.
  void started(BlockRequest request) { requests_[at_] = std::move(request); }
  std::span<BlockRequest> requests() { return requests_; }

 private:
  GatherMemory& memory_;
  std::array<BlockRequest, count> requests_;
  std::size_t at_ = 0;
};

class IndependentWriter final : public SegmentWriter {
 public:
  IndependentWriter(std::vector<std::string> paths, GatherMemory* memory)
      : places_(memory != nullptr ? *memory : own_) {
    for (std::string& path : paths) files_.emplace_back(std::move(path));
  }

  void write(std::span<const DataSegment> segments, Lifetime memory) override {
    for (const DataSegment& segment : segments) {
      // Pages of the file that are pages of memory are written without a copy.
      const auto apart = reinterpret_cast<std::intptr_t>(segment.memory) - segment.offset;
      if (memory == Lifetime::finish && segment.bytes >= long_segment && apart % page == 0) {
        write_from_memory(segment);
        continue;
      }
      if (segment.file != file_ || segment.offset != end_) begin_run(segment);
      append(segment);
    }
  }

  void finish() override {
    FirstFailure failure;
    failure.of([&] { end_run(); });
    for (BlockRequest& request : places_.requests()) failure.of([&] { request.wait(); });
    for (BlockRequest& request : from_memory_) failure.of([&] { request.wait(); });
    from_memory_.clear();
    for (const SharedFile& file : files_) failure.of([&] { file.sync(); });
    failure.rethrow();
  }

 private:
  void write_from_memory(const DataSegment& segment) {
    end_run();
    // A limit on the requests in flight: failures show up soon, and giving up waits for few
    // requests.
    constexpr std::size_t most = 16;
    while (from_memory_.size() >= most || (!from_memory_.empty() && from_memory_.front().test())) {
      BlockRequest done = std::move(from_memory_.front());
      from_memory_.pop_front();
      done.wait();
    }
    put_pages(files_[segment.file], Source::memory,
              {segment.offset, {segment.memory, static_cast<std::size_t>(segment.bytes)}},
              [&](BlockRequest request) { from_memory_.push_back(std::move(request)); });
  }

  // Begins a new range: segments that adjoin in the file. The slot maps the file's bytes from
  // place_begin_ (a page boundary) on, and holds bytes [begin_, end_) of the range.
  void begin_run(const DataSegment& segment) {
    end_run();
    take_place(segment.offset / page * page);
    file_ = segment.file;
    begin_ = end_ = segment.offset;
    long_ = false;
  }

  void take_place(std::int64_t begin) {
    place_ = places_.next();
    place_begin_ = begin;
  }

  void append(const DataSegment& segment) {
    const std::byte* from = segment.memory;
    for (std::int64_t left = segment.bytes; left > 0;) {
      if (end_ == place_begin_ + Places::bytes) {
        long_ = true;
        put_place();
        take_place(end_);
      }
      const std::int64_t bytes = std::min(left, place_begin_ + Places::bytes - end_);
      std::memcpy(place_ + (end_ - place_begin_), from, static_cast<std::size_t>(bytes));
      end_ += bytes;
      from += bytes;
      left -= bytes;
    }
  }

  void end_run() {
    long_ |= end_ - begin_ >= long_segment;
    put_place();
    begin_ = end_ = none;
  }

  // Writes the slot's bytes. begin_ moves first, so that a failed write is not tried again.
  void put_place() {
    const std::int64_t begin = std::exchange(begin_, end_);
    if (begin == end_) return;
    SharedFile& file = files_[file_];
    const Bytes bytes{begin, {place_ + (begin - place_begin_), place_ + (end_ - place_begin_)}};
    if (!long_) return file.write_cached(bytes);
    put_pages(file, Source::place, bytes,
              [&](BlockRequest request) { places_.started(std::move(request)); });
  }

  // Writes whole pages past the page cache, which takes more processor time than the disk takes to
  // write, and the rest at both ends through it.
  template <class Started>
  static void put_pages(SharedFile& file, Source source, const Bytes& bytes, Started&& started) {
    const std::int64_t first = (bytes.offset + page - 1) / page * page;
    const std::int64_t last = bytes.end() / page * page;
    if (bytes.offset < first) file.write_cached(bytes.part(bytes.offset, first));
    if (first < last) started(file.write_direct(bytes.part(first, last), source));
    if (last < bytes.end()) file.write_cached(bytes.part(last, bytes.end()));
  }

  static constexpr std::int64_t none = -1;  // no range has begun

  std::vector<SharedFile> files_;
  std::size_t file_ = 0;
  std::int64_t begin_ = none, end_ = none;
  bool long_ = false;
  std::byte* place_ = nullptr;
  std::int64_t place_begin_ = 0;
  GatherMemory own_;                      // used where the caller gave none
  Places places_;                         // declared after files_: its requests go to them
  std::deque<BlockRequest> from_memory_;  // declared after files_ too
};

}  // namespace

void take_all(GatherMemory& memory) {
  std::ranges::for_each(memory, Places::take);
}

std::unique_ptr<SegmentWriter> independent_writer(std::vector<std::string> paths,
                                                  GatherMemory* memory) {
  return std::make_unique<IndependentWriter>(std::move(paths), memory);
}

}  // namespace triax
