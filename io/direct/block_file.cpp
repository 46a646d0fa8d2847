// SPDX-License-Identifier: Apache-2.0
#include "io/direct/block_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "io/direct/block_engine.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

/// An open file. cached(): why it goes through the page cache; empty where it does not.
class DirectFile {
 public:
  DirectFile(const std::string& path, const BlockFile::Options& options) {
    const int flags = (options.writable ? O_RDWR : O_RDONLY) | O_CLOEXEC;
    if (options.direct) {
      fd_ = ::open(path.c_str(), flags | O_DIRECT);
      if (fd_ < 0 && errno == EINVAL) cached_ = std::strerror(EINVAL);
    } else {
      cached_ = "not asked for";
    }
    if (!cached_.empty()) fd_ = ::open(path.c_str(), flags);
    if (fd_ < 0)
      throw Error("cannot open " + path, std::strerror(errno),
                  "Check the path and its permissions");
  }
  ~DirectFile() { ::close(fd_); }
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;
  int get() const { return fd_; }
  const std::string& cached() const { return cached_; }

 private:
  int fd_ = -1;
  std::string cached_;
};

void require_possible(const BlockFile::Options& options) {
  constexpr std::int64_t largest_block = std::int64_t{1} << 30;
  constexpr int deepest = 4096;
  if (options.block_bytes < BlockFile::alignment || options.block_bytes > largest_block ||
      options.block_bytes % BlockFile::alignment != 0)
    throw Error(fmt::format("aio.block_size is {} bytes", options.block_bytes),
                fmt::format("it must be a multiple of {} bytes, at most {}", BlockFile::alignment,
                            largest_block),
                "Set it to such a value");
  if (options.queue_depth < 1 || options.queue_depth > deepest)
    throw Error(fmt::format("aio.queue_depth is {}", options.queue_depth),
                fmt::format("it must be 1 to {}", deepest), "Set it to such a value");
}

const char* what_to_do(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "Free space, raise the quota, or choose another directory";
    case EFBIG:
      return "Raise the limit on the size of files (ulimit -f)";
    case EIO:
      return "The disk may be failing: see the kernel's log, or choose another disk";
    case BlockQueue::Failure::end_of_file:
      return "The file was truncated, or made for fewer bytes: let the program create it again";
    default:
      return "Check the disk and its file system, or choose another directory";
  }
}

std::string reason(int error) {
  return error == BlockQueue::Failure::end_of_file ? "the file ends there" : std::strerror(error);
}

}  // namespace

struct BlockFile::Impl {
  Impl(const std::string& name, const Options& options)
      : path(name),
        writable(options.writable),
        file(name, options),
        queue(options.block_bytes, file.cached().empty() ? file.get() : -1) {
    refusal = "not asked for";
    if (options.io_uring)
      engine = make_uring_engine(file.get(), queue, options.queue_depth, options.thread,
                                 options.memory, refusal);
    if (engine)
      refusal.clear();
    else
      engine = make_thread_engine(file.get(), queue, options.queue_depth);
    block_bytes = options.block_bytes;
  }

  std::uint32_t start(Direction direction, std::byte* data, std::int64_t offset,
                      std::size_t bytes) {
    const auto place = reinterpret_cast<std::uintptr_t>(data);
    check(
        offset >= 0 && offset % alignment == 0 && bytes % alignment == 0 && place % alignment == 0,
        "{} bytes at address {:#x} and offset {} of {} are not aligned to {}", bytes, place, offset,
        path, alignment);
    const std::uint32_t transfer =
        queue.add(direction, data, offset, static_cast<std::int64_t>(bytes));
    if (bytes > 0) engine->wake();
    return transfer;
  }

  BlockQueue::Failure wait(std::uint32_t transfer) {
    while (!engine->by_itself() && !queue.done(transfer)) engine->work();
    return queue.wait(transfer);
  }

  std::string path;
  bool writable;
  std::int64_t block_bytes = 0;
  DirectFile file;
  BlockQueue queue;
  std::string refusal;  // why io_uring is not used
  std::unique_ptr<BlockEngine> engine;
};

BlockFile::BlockFile(const std::string& path, const Options& options) {
  require_possible(options);
  impl_ = std::make_unique<Impl>(path, options);
}

BlockFile::~BlockFile() {
  while (!impl_->engine->by_itself() && !impl_->queue.all_done()) impl_->engine->work();
  impl_->queue.wait_all();
}

BlockRequest BlockFile::read(std::int64_t offset, std::span<std::byte> memory) {
  return {this, impl_->start(Direction::read, memory.data(), offset, memory.size())};
}

BlockRequest BlockFile::write(std::int64_t offset, std::span<const std::byte> memory) {
  check(impl_->writable, "write to {}, which is open for reading", impl_->path);
  // One Block type serves both directions; a write only reads its memory.
  auto* const data = const_cast<std::byte*>(memory.data());
  return {this, impl_->start(Direction::write, data, offset, memory.size())};
}

std::string BlockFile::description() const {
  const auto because = [](const char* what, const std::string& why) {
    return why.empty() ? std::string() : fmt::format(" ({}: {})", what, why);
  };
  std::string cached = impl_->file.cached();
  if (cached.empty() && (::fcntl(impl_->file.get(), F_GETFL) & O_DIRECT) == 0)
    cached = "refused by a transfer";
  return fmt::format("{}{}, blocks of {} bytes, {}{}", impl_->engine->description(),
                     because("io_uring", impl_->refusal), impl_->block_bytes,
                     cached.empty() ? "O_DIRECT" : "page cache", because("O_DIRECT", cached));
}

BlockRequest::~BlockRequest() {
  if (file_ != nullptr) file_->impl_->wait(transfer_);
}

void BlockRequest::wait() {
  if (file_ == nullptr) return;
  BlockFile::Impl& file = *std::exchange(file_, nullptr)->impl_;
  const BlockQueue::Failure failure = file.wait(transfer_);
  if (failure.error == 0) return;
  throw Error(fmt::format("cannot {} {} at byte {}",
                          failure.direction == Direction::read ? "read" : "write", file.path,
                          failure.offset),
              reason(failure.error), what_to_do(failure.error));
}

bool BlockRequest::test() {
  if (file_ == nullptr) return true;
  file_->impl_->engine->poll();
  return file_->impl_->queue.done(transfer_);
}

}  // namespace triax
