// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/tools/checkpoint_verify.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/load/checkpoint_block_reader.hpp"
#include "io/checkpoint/load/checkpoint_loader.hpp"
#include "io/checkpoint/load/loader_options.hpp"
#include "io/checkpoint/load/node_memory.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/device/device.hpp"

namespace triax {
namespace {

using Clock = std::chrono::steady_clock;

/// Streams a rank's chunks from disk through buffers. Adjoining chunks are read at once. One buffer
/// is checked while the others are in flight; their number and size are those of a load.
class BlockStream {
 public:
  /// The arguments outlive the object. `parts`: number of buffers, >= 2.
  BlockStream(const CheckpointBlocks& blocks, const CheckpointReader& reader,
              std::span<const std::int64_t> wanted, int parts)
      : blocks_(blocks), disk_(blocks, reader), wanted_(wanted), parts_(parts) {
    std::int64_t all = 0;
    for (const std::int64_t block : wanted) {
      part_bytes_ = std::max(part_bytes_, blocks.footprint(block));
      all += blocks.footprint(block);
    }
    part_bytes_ = std::max(part_bytes_, std::min(all, loading_block_bytes));
    // Pages come on first use: the disk fills the first buffer before the others have any.
    memory_ = Buffer::unwritten(static_cast<std::size_t>(parts * part_bytes_));
    for (int part = 0; part + 1 < parts; ++part) start();
  }

  /// Calls visit(chunk, its elements) for each wanted chunk, in order.
  template <class Visit>
  void each(Visit&& visit) {
    while (!ahead_.empty()) {
      std::vector<BlockReading> readings = std::move(ahead_.front());
      ahead_.pop_front();
      for (BlockReading& reading : readings) disk_.wait(reading);
      start();
      for (BlockReading& reading : readings) visit(reading.block, disk_.finish(reading));
    }
  }

 private:
  // Starts reading into the next free buffer.
  void start() {
    const std::size_t first = next_;
    std::int64_t room = part_bytes_;
    while (next_ < wanted_.size() && blocks_.footprint(wanted_[next_]) <= room)
      room -= blocks_.footprint(wanted_[next_++]);
    if (next_ == first) return;
    std::byte* const memory =
        static_cast<std::byte*>(memory_.data()) + started_++ % parts_ * part_bytes_;
    ahead_.push_back(disk_.start(wanted_.subspan(first, next_ - first), memory));
  }

  const CheckpointBlocks& blocks_;
  Buffer memory_;
  CheckpointBlockReader disk_;  // declared after the memory of its requests
  std::span<const std::int64_t> wanted_;
  std::size_t next_ = 0;  // index of the next wanted chunk
  std::int64_t part_bytes_ = 0;
  int parts_, started_ = 0;
  std::deque<std::vector<BlockReading>> ahead_;
};

// For every chunk 1 if this rank has checked it and found damage, else 0.
std::vector<std::uint64_t> damaged_blocks(const CheckpointBlocks& blocks,
                                          const CheckpointReader& reader,
                                          const TensorPieces& pieces, int parts,
                                          const VerifyProgress& progress) {
  std::vector<std::uint64_t> damaged(static_cast<std::size_t>(pieces.count()));
  std::vector<std::int64_t> own;
  pieces.each_own([&](std::int64_t index, const TensorPiece&) { own.push_back(index); });
  std::int64_t done = 0;
  BlockStream(blocks, reader, own, parts).each([&](std::int64_t block, const Tensor& data) {
    if (!blocks.matches(block, data)) damaged[static_cast<std::size_t>(block)] = 1;
    done += blocks.bytes(block);
    if (progress) progress(done, pieces.own_bytes());
  });
  return damaged;
}

}  // namespace

Verification verify_checkpoint(const std::string& path, const Ranks& ranks,
                               const VerifyProgress& progress, const std::string& group) {
  const auto start = Clock::now();
  const CheckpointReader reader(path, ranks);
  const CheckpointBlocks blocks(reader, ranks);
  Verification result;
  result.has_checksums = blocks.has_checksums();
  if (!result.has_checksums) return result;
  const TensorPieces pieces(blocks.tensors(), blocks.elements(), ranks, group);
  std::vector<std::uint64_t> damaged;
  const int parts = 1 + parts_ahead(ranks_on_machine(ranks));  // one buffer is being checked
  agreed(ranks, [&] { damaged = damaged_blocks(blocks, reader, pieces, parts, progress); });
  sum_over_ranks(ranks, damaged);
  pieces.each([&](std::int64_t index, const TensorPiece& piece) {
    if (damaged[static_cast<std::size_t>(index)] == 0) return;
    const CheckpointTensor& tensor = blocks.tensors()[piece.tensor];
    const auto width = static_cast<std::int64_t>(size_of(tensor.dtype));
    result.damaged.push_back({tensor.name, piece.number, piece.begin * width, piece.end * width});
  });
  result.bytes = pieces.bytes();
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

std::string text_of(const std::vector<DamagedBlock>& damaged) {
  constexpr std::size_t shown = 10;
  std::string text;
  for (const DamagedBlock& block : std::span(damaged).first(std::min(shown, damaged.size())))
    text += fmt::format("{}{} block {}, bytes {} to {}", text.empty() ? "" : "\n", block.tensor,
                        block.block, block.begin_byte, block.end_byte);
  if (damaged.size() > shown) text += fmt::format("\nand {} more", damaged.size() - shown);
  return text;
}

bool require_whole(const std::string& path, const Ranks& ranks, const std::string& group) {
  const Verification result = verify_checkpoint(path, ranks, {}, group);
  if (result.damaged.empty()) return result.has_checksums;
  throw Error(fmt::format("{} is damaged", path),
              fmt::format("{} of its blocks do not match their checksums, the first is {}",
                          result.damaged.size(), text_of({result.damaged.front()})),
              "Use another checkpoint");
}

}  // namespace triax
