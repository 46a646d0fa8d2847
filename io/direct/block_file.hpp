#pragma once
// Asynchronous reads and writes of one open file at byte offsets, past the page cache (O_DIRECT) by
// io_uring. Where the system refuses io_uring (old kernels, containers) threads do the same with
// pread(2) and pwrite(2); where the file system refuses O_DIRECT, at once or at a transfer, the
// page cache is used.
//
// A thread of its own keeps blocks in flight: transfers of any length go on while the caller
// computes. A caller that comes back often does without: on busy cores a thread has to wait for its
// turn, and the disk with it.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace triax {

class BlockFile;

/// One read or write under way. Until it is done its memory may not be touched. The destructor
/// waits too, but says nothing of errors; the BlockFile must still be there.
class BlockRequest {
 public:
  BlockRequest() = default;
  ~BlockRequest();
  BlockRequest(BlockRequest&& other) noexcept
      : file_(std::exchange(other.file_, nullptr)), transfer_(other.transfer_) {}
  BlockRequest& operator=(BlockRequest&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(transfer_, other.transfer_);
    return *this;
  }
  BlockRequest(const BlockRequest&) = delete;
  BlockRequest& operator=(const BlockRequest&) = delete;

  /// Blocks until all is moved; nothing where it is already. Error, naming file and offset, when
  /// the disk failed or is full, or the file ends before.
  void wait();
  /// True when all is moved or failed: wait() then returns or throws at once.
  bool test();
  /// False once waited for, and for a request of nothing.
  bool pending() const { return file_ != nullptr; }

 private:
  friend class BlockFile;
  BlockRequest(BlockFile* file, std::uint32_t transfer) : file_(file), transfer_(transfer) {}

  BlockFile* file_ = nullptr;
  std::uint32_t transfer_ = 0;
};

/// An open file. One thread uses it. Nothing is allocated per call, but where more requests are
/// under way than ever before.
class BlockFile {
 public:
  /// What offsets, lengths and addresses are multiples of, in bytes. Buffer is aligned so from this
  /// size on.
  static constexpr std::int64_t alignment = 4096;

  struct Options {
    std::int64_t block_bytes = std::int64_t{1}
                               << 20;  // of one operation; DeepSpeed: aio.block_size
    int queue_depth = 32;  // operations in flight, over all requests; DeepSpeed: aio.queue_depth
    bool writable = true;
    bool thread = true;  // false: io_uring's blocks are started in the calls of this file alone
    /// Memory to register with the kernel, which then need not pin it for each operation; it must
    /// outlive the file. Left unregistered where the limit on locked memory (ulimit -l) forbids.
    std::vector<std::span<std::byte>> memory;
    bool io_uring = true;  // false: threads, as where the system refuses it
    bool direct = true;    // false: the page cache, as where the file system refuses O_DIRECT
  };

  /// Opens a file that exists. Error where it cannot, or where the options are impossible.
  BlockFile(const std::string& path, const Options& options);
  /// Waits for all transfers.
  ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  /// Start moving all of `memory` from or to byte `offset` of the file. Requests under way may
  /// overlap in time in any order: wait for a write before its range is read.
  BlockRequest read(std::int64_t offset, std::span<std::byte> memory);
  BlockRequest write(std::int64_t offset, std::span<const std::byte> memory);

  /// One line: how blocks are moved, and why not better.
  std::string description() const;

 private:
  friend class BlockRequest;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace triax
