// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transfers between memory and one file, cut into blocks (extents of at most block_bytes):
// BlockFile adds transfers, an engine takes and finishes their blocks. Internal to io/. Every
// member function is thread-safe.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace triax {

/// Multiple of offsets, lengths and addresses in bytes that O_DIRECT needs.
inline constexpr std::int64_t direct_alignment = 4096;

enum class Direction : std::uint8_t { read, write };

/// One extent of a transfer, of at most the queue's block_bytes.
struct Block {
  std::uint32_t transfer = 0;
  Direction direction = Direction::read;
  std::byte* data = nullptr;
  std::int64_t offset = 0;  // in the file
  std::int64_t bytes = 0;
  bool again = false;  // started again, after O_DIRECT was refused
};

class BlockQueue {
 public:
  /// Why a transfer could not be completed, and where.
  struct Failure {
    static constexpr int end_of_file = -1;
    int error = 0;  // errno, or end_of_file; 0 where all went well
    std::int64_t offset = 0;
    Direction direction = Direction::read;
  };

  /// `direct_file`: descriptor of the file if it is open with O_DIRECT, else -1.
  explicit BlockQueue(std::int64_t block_bytes, int direct_file = -1)
      : block_bytes_(block_bytes), direct_file_(direct_file) {}

  /// Queues a transfer and returns its number, which is valid until its wait() returns. Allocates
  /// only when more transfers are in flight than ever before.
  std::uint32_t add(Direction direction, std::byte* data, std::int64_t offset, std::int64_t bytes);
  bool done(std::uint32_t transfer) const;
  /// Waits until the transfer is done, then frees its number.
  Failure wait(std::uint32_t transfer);
  /// Waits until no transfer is in flight.
  void wait_all();
  bool all_done() const;

  /// Takes the next block to start, oldest transfer first; false where there is none.
  bool take(Block& block);
  /// As take(), but waits for a block; false after stop().
  bool wait_and_take(Block& block);
  /// Reports a block's result: what pread(2) or pwrite(2) returns, or -errno. Returns true where
  /// `block` must be started again: it is then the rest of a short or interrupted transfer. A file
  /// system that opened the file with O_DIRECT but refuses the transfer also leads here; the file
  /// continues without O_DIRECT.
  bool finish(Block& block, std::int64_t result);
  void stop();

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Transfer {
    Direction direction = Direction::read;
    std::byte* data = nullptr;
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    std::int64_t taken = 0;
    std::int64_t in_flight = 0;  // blocks
    Failure failure;
    std::uint32_t next = none;  // next transfer with blocks to take, or next free one
    bool done() const { return taken == bytes && in_flight == 0; }
  };

  bool take_locked(Block& block);
  bool goes_through_cache(Block& block, std::int64_t result) const;
  void fail_locked(const Block& block, int error, std::int64_t offset);

  const std::int64_t block_bytes_;
  const int direct_file_;
  mutable std::mutex mutex_;
  std::condition_variable added_;
  std::condition_variable done_;
  std::vector<Transfer> transfers_;
  std::uint32_t first_ = none;  // transfers with blocks to take
  std::uint32_t last_ = none;
  std::uint32_t free_ = none;
  std::int64_t unfinished_ = 0;
  bool stopped_ = false;
};

}  // namespace triax
