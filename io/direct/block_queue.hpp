#pragma once
// Transfers between memory and one file, cut into blocks: BlockFile adds them, the threads of an
// engine take and finish the blocks. Internal to io/. Every member function is thread-safe.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace triax {

enum class Direction : std::uint8_t { read, write };

/// One piece of a transfer, at most as large as the queue's blocks.
struct Block {
  std::uint32_t transfer = 0;
  Direction direction = Direction::read;
  std::byte* data = nullptr;
  std::int64_t offset = 0;  // in the file
  std::int64_t bytes = 0;
  bool again = false;  // it was refused past the page cache
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

  /// `direct_file`: one that is open with O_DIRECT; -1: none.
  explicit BlockQueue(std::int64_t block_bytes, int direct_file = -1)
      : block_bytes_(block_bytes), direct_file_(direct_file) {}

  /// Queues a transfer; its number is valid until wait() of it returns. Allocates only where more
  /// transfers are under way than ever before.
  std::uint32_t add(Direction direction, std::byte* data, std::int64_t offset, std::int64_t bytes);
  bool done(std::uint32_t transfer) const;
  /// Blocks until the transfer is done, then forgets it.
  Failure wait(std::uint32_t transfer);
  /// Blocks until no transfer is under way.
  void wait_all();
  bool all_done() const;

  /// The next block to be started, oldest transfer first; false where there is none.
  bool take(Block& block);
  /// The same, waiting for one; false after stop().
  bool wait_and_take(Block& block);
  /// `result` is what pread(2) or pwrite(2) would return, a failure as -errno. True where a rest of
  /// the block remains (a short or interrupted transfer): `block` is then that rest, to be started
  /// again. So it is where the file system opened the file with O_DIRECT and now refuses such a
  /// transfer: the file is without O_DIRECT from then on.
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
    std::uint32_t next = none;  // in the list of those with blocks to take, or of the free ones
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
