// SPDX-License-Identifier: Apache-2.0
// Engine on io_uring (io_uring_setup(2)). With a thread of its own it starts blocks as others
// complete, so that a transfer longer than the queue depth progresses while its caller computes.
#include <liburing.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/direct/block_engine.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/process/quiet_thread.hpp"

namespace triax {
namespace {

constexpr std::uint64_t wake_tag = ~std::uint64_t{0};

/// A ring and the eventfd that wakes the thread waiting on it.
class Ring {
 public:
  /// Makes a ring of `depth` entries and one for the wake-up. error(): 0, or errno where the kernel
  /// refuses.
  explicit Ring(int depth) {
    error_ = -io_uring_queue_init(static_cast<unsigned>(depth) + 1, &ring_, 0);
    if (error_ != 0) return;
    open_ = true;
    wake_ = ::eventfd(0, EFD_CLOEXEC);
    if (wake_ < 0)
      error_ = errno;
    else if (!supports_reads())
      error_ = EOPNOTSUPP;
  }
  ~Ring() {
    if (open_) io_uring_queue_exit(&ring_);
    if (wake_ >= 0) ::close(wake_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  int error() const { return error_; }
  io_uring* get() { return &ring_; }
  int wake() const { return wake_; }

 private:
  // Kernels before 5.6 have io_uring without IORING_OP_READ and IORING_OP_WRITE.
  bool supports_reads() {
    io_uring_probe* const probe = io_uring_get_probe_ring(&ring_);
    const bool supported = probe != nullptr &&
                           io_uring_opcode_supported(probe, IORING_OP_READ) != 0 &&
                           io_uring_opcode_supported(probe, IORING_OP_WRITE) != 0;
    if (probe != nullptr) io_uring_free_probe(probe);
    return supported;
  }

  io_uring ring_{};
  bool open_ = false;
  int wake_ = -1;
  int error_ = 0;
};

// The kernel takes at most 1 GiB as one registered buffer.
std::vector<iovec> registrable(const std::vector<std::span<std::byte>>& memory) {
  constexpr std::size_t largest = std::size_t{1} << 30;
  std::vector<iovec> pieces;
  for (const std::span<std::byte>& span : memory)
    for (std::size_t at = 0; at < span.size(); at += largest)
      pieces.push_back({span.data() + at, std::min(largest, span.size() - at)});
  return pieces;
}

/// Moves blocks of a queue through a ring, in the calling thread.
class UringBlocks {
 public:
  UringBlocks(int file, BlockQueue& queue, int depth, std::unique_ptr<Ring> ring,
              const std::vector<std::span<std::byte>>& memory)
      : file_(file), queue_(&queue), ring_(std::move(ring)) {
    slots_.resize(static_cast<std::size_t>(depth));
    for (std::uint32_t i = 0; i < slots_.size(); ++i) free_.push_back(i);
    register_memory(memory);
  }

  Ring& ring() { return *ring_; }
  bool idle() const { return free_.size() == slots_.size(); }
  /// Puts blocks of the queue into the free entries of the ring; the caller submits them.
  void start_blocks();
  /// Takes all completions and returns whether there were any. Calls `other` for the completion of
  /// the wake-up.
  template <class Other>
  bool drain(Other&& other);
  std::string description() const {
    return fmt::format("io_uring, up to {} blocks in flight, {}", slots_.size(), memory_text_);
  }

 private:
  void register_memory(const std::vector<std::span<std::byte>>& memory);
  void start(std::uint32_t slot);
  int registered_index(const Block& block) const;

  const int file_;
  BlockQueue* const queue_;
  std::unique_ptr<Ring> ring_;
  std::vector<iovec> registered_;
  std::string memory_text_ = "memory not registered";
  std::vector<Block> slots_;  // a completion's tag is an index into this
  std::vector<std::uint32_t> free_;
};

void UringBlocks::register_memory(const std::vector<std::span<std::byte>>& memory) {
  if (memory.empty()) return;
  registered_ = registrable(memory);
  const int failure = io_uring_register_buffers(ring_->get(), registered_.data(),
                                                static_cast<unsigned>(registered_.size()));
  if (failure == 0) {
    memory_text_ = "memory registered";
    return;
  }
  registered_.clear();
  memory_text_ += fmt::format(" ({})", std::strerror(-failure));
}

// Index of the registered buffer that contains all of the block's memory, or -1.
int UringBlocks::registered_index(const Block& block) const {
  for (std::size_t i = 0; i < registered_.size(); ++i) {
    const auto* const base = static_cast<const std::byte*>(registered_[i].iov_base);
    if (block.data >= base && block.data + block.bytes <= base + registered_[i].iov_len)
      return static_cast<int>(i);
  }
  return -1;
}

void UringBlocks::start(std::uint32_t slot) {
  const Block& block = slots_[slot];
  // Never null: the ring has an entry for every slot and the wake-up.
  io_uring_sqe* const entry = io_uring_get_sqe(ring_->get());
  const auto bytes = static_cast<unsigned>(block.bytes);
  const auto offset = static_cast<std::uint64_t>(block.offset);
  const int index = registered_index(block);
  if (block.direction == Direction::read) {
    if (index >= 0)
      io_uring_prep_read_fixed(entry, file_, block.data, bytes, offset, index);
    else
      io_uring_prep_read(entry, file_, block.data, bytes, offset);
  } else {
    if (index >= 0)
      io_uring_prep_write_fixed(entry, file_, block.data, bytes, offset, index);
    else
      io_uring_prep_write(entry, file_, block.data, bytes, offset);
  }
  io_uring_sqe_set_data64(entry, slot);
}

void UringBlocks::start_blocks() {
  while (!free_.empty() && queue_->take(slots_[free_.back()])) {
    start(free_.back());
    free_.pop_back();
  }
}

template <class Other>
bool UringBlocks::drain(Other&& other) {
  bool any = false;
  io_uring_cqe* entry = nullptr;
  while (io_uring_peek_cqe(ring_->get(), &entry) == 0) {
    const std::uint64_t tag = io_uring_cqe_get_data64(entry);
    const std::int64_t result = entry->res;
    io_uring_cqe_seen(ring_->get(), entry);
    any = true;
    const auto slot = static_cast<std::uint32_t>(tag);
    if (tag == wake_tag)
      other();
    else if (queue_->finish(slots_[slot], result))
      start(slot);
    else
      free_.push_back(slot);
  }
  return any;
}

class ThreadedUring final : public BlockEngine {
 public:
  explicit ThreadedUring(UringBlocks blocks) : blocks_(std::move(blocks)) {
    thread_ = start_quiet_thread([this] { run(); });
  }
  ~ThreadedUring() override {
    stopping_ = true;
    wake();
    thread_.join();
  }
  ThreadedUring(const ThreadedUring&) = delete;
  ThreadedUring& operator=(const ThreadedUring&) = delete;

  void wake() override {
    const std::uint64_t one = 1;
    while (::write(blocks_.ring().wake(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
  }
  std::string description() const override { return blocks_.description(); }

 private:
  void wait_for_wake() {
    io_uring_sqe* const entry = io_uring_get_sqe(blocks_.ring().get());
    io_uring_prep_read(entry, blocks_.ring().wake(), &wake_count_, sizeof(wake_count_), 0);
    io_uring_sqe_set_data64(entry, wake_tag);
  }
  void run() {
    wait_for_wake();
    while (!ended_ || !blocks_.idle()) {
      blocks_.start_blocks();
      // A failure (interrupted, kernel out of memory) leaves the entries in the ring; the next turn
      // submits them.
      if (io_uring_submit_and_wait(blocks_.ring().get(), 1) < 0) std::this_thread::yield();
      blocks_.drain([this] {
        if (stopping_)
          ended_ = true;
        else
          wait_for_wake();
      });
    }
  }

  UringBlocks blocks_;
  std::uint64_t wake_count_ = 0;  // target of the eventfd's read
  std::atomic<bool> stopping_ = false;
  bool ended_ = false;  // woken to stop: no eventfd read is in flight
  std::thread thread_;
};

class CalledUring final : public BlockEngine {
 public:
  explicit CalledUring(UringBlocks blocks) : blocks_(std::move(blocks)) {}
  void wake() override { poll(); }
  void poll() override {
    turn();
    io_uring_submit(blocks_.ring().get());
  }
  void work() override {
    // The completions just taken may be the last in the kernel and all that the caller waits for:
    // waiting here would never end.
    if (turn() || blocks_.idle()) {
      io_uring_submit(blocks_.ring().get());
      return;
    }
    if (io_uring_submit_and_wait(blocks_.ring().get(), 1) < 0) std::this_thread::yield();
  }
  bool by_itself() const override { return false; }
  std::string description() const override {
    return blocks_.description() + ", by the calling thread";
  }

 private:
  // Returns whether any block completed. The drain itself reports it, as a block may complete right
  // before it.
  bool turn() {
    const bool some = blocks_.drain([] {});
    blocks_.start_blocks();
    return some;
  }

  UringBlocks blocks_;
};

}  // namespace

std::unique_ptr<BlockEngine> make_uring_engine(int file, BlockQueue& queue, int depth, bool thread,
                                               const std::vector<std::span<std::byte>>& memory,
                                               std::string& refusal) {
  auto ring = std::make_unique<Ring>(depth);
  if (ring->error() != 0) {
    refusal = std::strerror(ring->error());
    return nullptr;
  }
  UringBlocks blocks(file, queue, depth, std::move(ring), memory);
  if (thread) return std::make_unique<ThreadedUring>(std::move(blocks));
  return std::make_unique<CalledUring>(std::move(blocks));
}

}  // namespace triax
