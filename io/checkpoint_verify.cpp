#include "io/checkpoint_verify.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

#include "io/checkpoint_block_reader.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/device.hpp"

namespace triax {
namespace {

using Clock = std::chrono::steady_clock;

// What a rank has under way from the disk: two blocks at least.
constexpr std::int64_t in_flight_bytes = std::int64_t{32} << 20;

// 1 for each of this rank's blocks whose data do not add up to their checksum.
std::vector<std::uint64_t> damaged_blocks(const CheckpointBlocks& blocks,
                                          const CheckpointReader& reader,
                                          const TensorPieces& pieces,
                                          const VerifyProgress& progress) {
  std::vector<std::uint64_t> damaged(static_cast<std::size_t>(pieces.count()));
  std::vector<std::int64_t> own;
  std::int64_t largest = 1;
  pieces.each_own([&](std::int64_t index, const TensorPiece&) {
    own.push_back(index);
    largest = std::max(largest, blocks.footprint(index));
  });
  const std::size_t places = std::min(
      own.size(), static_cast<std::size_t>(std::max<std::int64_t>(2, in_flight_bytes / largest)));
  const Buffer memory(places * static_cast<std::size_t>(largest));
  CheckpointBlockReader disk(blocks, reader);
  std::vector<BlockReading> readings(places);
  const auto start = [&](std::size_t i) {
    auto* const all = static_cast<std::byte*>(memory.data());
    readings[i % places] =
        disk.start({&own[i], 1}, all + i % places * static_cast<std::size_t>(largest)).front();
  };
  for (std::size_t i = 0; i < places; ++i) start(i);
  std::int64_t done = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (!blocks.matches(own[i], disk.finish(readings[i % places])))
      damaged[static_cast<std::size_t>(own[i])] = 1;
    done += blocks.bytes(own[i]);
    if (i + places < own.size()) start(i + places);
    if (progress) progress(done, pieces.own_bytes());
  }
  return damaged;
}

}  // namespace

Verification verify_checkpoint(const std::string& path, const Ranks& ranks,
                               const VerifyProgress& progress) {
  const auto start = Clock::now();
  std::optional<CheckpointReader> reader;
  agreed(ranks, [&] { reader.emplace(path); });
  const CheckpointBlocks blocks(*reader, ranks);
  Verification result;
  result.has_checksums = blocks.has_checksums();
  if (!result.has_checksums) return result;
  const TensorPieces pieces(blocks.tensors(), blocks.elements(), ranks);
  std::vector<std::uint64_t> damaged;
  agreed(ranks, [&] { damaged = damaged_blocks(blocks, *reader, pieces, progress); });
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

bool require_whole(const std::string& path, const Ranks& ranks) {
  const Verification result = verify_checkpoint(path, ranks);
  if (result.damaged.empty()) return result.has_checksums;
  throw Error(fmt::format("{} is damaged", path),
              fmt::format("{} of its blocks do not match their checksums, the first is {}",
                          result.damaged.size(), text_of({result.damaged.front()})),
              "Use another checkpoint");
}

}  // namespace triax
