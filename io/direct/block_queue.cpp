// SPDX-License-Identifier: Apache-2.0
#include "io/direct/block_queue.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace triax {

std::uint32_t BlockQueue::add(Direction direction, std::byte* data, std::int64_t offset,
                              std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (free_ == none) {
    transfers_.emplace_back();
    free_ = static_cast<std::uint32_t>(transfers_.size() - 1);
  }
  const std::uint32_t number = free_;
  Transfer& transfer = transfers_[number];
  free_ = transfer.next;
  transfer = {
      .direction = direction, .data = data, .offset = offset, .bytes = bytes, .failure = {}};
  if (bytes == 0) return number;
  ++unfinished_;
  if (first_ == none)
    first_ = number;
  else
    transfers_[last_].next = number;
  last_ = number;
  added_.notify_all();
  return number;
}

bool BlockQueue::done(std::uint32_t transfer) const {
  const std::lock_guard lock(mutex_);
  return transfers_[transfer].done();
}

BlockQueue::Failure BlockQueue::wait(std::uint32_t number) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return transfers_[number].done(); });
  Transfer& transfer = transfers_[number];
  transfer.next = free_;
  free_ = number;
  return transfer.failure;
}

void BlockQueue::wait_all() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return unfinished_ == 0; });
}

bool BlockQueue::all_done() const {
  const std::lock_guard lock(mutex_);
  return unfinished_ == 0;
}

bool BlockQueue::take_locked(Block& block) {
  if (first_ == none) return false;
  const std::uint32_t number = first_;
  Transfer& transfer = transfers_[number];
  block = {.transfer = number,
           .direction = transfer.direction,
           .data = transfer.data + transfer.taken,
           .offset = transfer.offset + transfer.taken,
           .bytes = std::min(block_bytes_, transfer.bytes - transfer.taken)};
  transfer.taken += block.bytes;
  ++transfer.in_flight;
  if (transfer.taken == transfer.bytes) first_ = transfer.next;
  return true;
}

bool BlockQueue::take(Block& block) {
  const std::lock_guard lock(mutex_);
  return take_locked(block);
}

bool BlockQueue::wait_and_take(Block& block) {
  std::unique_lock lock(mutex_);
  added_.wait(lock, [&] { return first_ != none || stopped_; });
  return take_locked(block);
}

// Keeps the first failure and drops the blocks that were not started. Only the first transfer of
// the list can have both blocks in flight and blocks to take.
void BlockQueue::fail_locked(const Block& block, int error, std::int64_t offset) {
  Transfer& transfer = transfers_[block.transfer];
  if (transfer.failure.error == 0)
    transfer.failure = {.error = error, .offset = offset, .direction = block.direction};
  if (transfer.taken < transfer.bytes) first_ = transfer.next;
  transfer.bytes = transfer.taken;
}

// Each block is tried again once: a block that the page cache refuses too has failed.
bool BlockQueue::goes_through_cache(Block& block, std::int64_t result) const {
  if (direct_file_ < 0 || block.again || (result != -EINVAL && result != -EOPNOTSUPP)) return false;
  const int flags = ::fcntl(direct_file_, F_GETFL);
  block.again = flags >= 0 && ::fcntl(direct_file_, F_SETFL, flags & ~O_DIRECT) == 0;
  return block.again;
}

bool BlockQueue::finish(Block& block, std::int64_t result) {
  if (result == -EINTR || result == -EAGAIN || goes_through_cache(block, result)) return true;
  // A read that ends off an alignment boundary met the end of the file. A short write is started
  // again to learn the reason.
  const bool at_end =
      block.direction == Direction::read && result < block.bytes &&
      (result == 0 || (result > 0 && (block.offset + result) % direct_alignment != 0));
  if (result > 0 && result < block.bytes && !at_end) {
    block.data += result;
    block.offset += result;
    block.bytes -= result;
    return true;
  }
  const std::lock_guard lock(mutex_);
  Transfer& transfer = transfers_[block.transfer];
  if (at_end)
    fail_locked(block, Failure::end_of_file, block.offset + result);
  else if (result <= 0)
    fail_locked(block, result == 0 ? EIO : static_cast<int>(-result), block.offset);
  --transfer.in_flight;
  if (transfer.done()) {
    --unfinished_;
    done_.notify_all();
  }
  return false;
}

void BlockQueue::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  added_.notify_all();
}

}  // namespace triax
