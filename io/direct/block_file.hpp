// SPDX-License-Identifier: Apache-2.0
#pragma once
// Asynchronous reads and writes of one open file at byte offsets, past the page cache (O_DIRECT) by
// io_uring. Where the system refuses io_uring (old kernels, containers) threads do the same with
// pread(2) and pwrite(2); where the file system refuses O_DIRECT, at once or at a transfer, the
// page cache is used.
//
// An engine thread keeps blocks in flight, so that transfers of any length progress while the
// caller computes. A caller that returns often sets Options::thread = false: on busy cores the
// thread waits for its turn, and the disk with it.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/direct/block_queue.hpp"

namespace triax {

class BlockFile;

/// A read or write in flight. Its memory must not be touched until it is done. The destructor waits
/// too but drops errors; the BlockFile must outlive it.
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

  /// Waits until all bytes are moved. Error with file and offset when the disk fails or is full, or
  /// the file ends too early.
  void wait();
  /// True when the transfer is done or failed: wait() then returns or throws at once.
  bool test();
  /// False after wait(), and for a default-constructed request.
  bool pending() const { return file_ != nullptr; }

 private:
  friend class BlockFile;
  BlockRequest(BlockFile* file, std::uint32_t transfer) : file_(file), transfer_(transfer) {}

  BlockFile* file_ = nullptr;
  std::uint32_t transfer_ = 0;
};

/// An open file, used by one thread. A call allocates only when more requests are in flight than
/// ever before.
class BlockFile {
 public:
  /// Offsets, lengths and addresses are multiples of this, in bytes. A Buffer of at least this size
  /// is aligned to it.
  static constexpr std::int64_t alignment = direct_alignment;

  struct Options {
    std::int64_t block_bytes = std::int64_t{1} << 20;  // per operation; DeepSpeed: aio.block_size
    int queue_depth = 32;  // operations in flight over all requests; DeepSpeed: aio.queue_depth
    bool writable = true;
    bool thread = true;  // false: io_uring starts blocks only in calls of this file
    /// Memory to register with the kernel, which then need not pin it per operation; it must
    /// outlive the file. It stays unregistered where the limit on locked memory (ulimit -l) is too
    /// low.
    std::vector<std::span<std::byte>> memory;
    bool io_uring = true;  // false: threads, as where the system refuses it
    bool direct = true;    // false: the page cache, as where the file system refuses O_DIRECT
  };

  /// Opens an existing file. Error where that fails or an option is out of range.
  BlockFile(const std::string& path, const Options& options);
  /// Waits for all transfers.
  ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  /// Starts a transfer of all of `memory` from or to byte `offset` of the file. Requests complete
  /// in any order: wait for a write before its range is read.
  BlockRequest read(std::int64_t offset, std::span<std::byte> memory);
  BlockRequest write(std::int64_t offset, std::span<const std::byte> memory);

  /// One line for the log: how blocks are moved, and why nothing faster is used.
  std::string description() const;

 private:
  friend class BlockRequest;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace triax
