#include "io/checkpoint_verify.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

#include "io/checksum.hpp"
#include "io/tensor_pieces.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

using Clock = std::chrono::steady_clock;

// What a rank knows of the file before it reads data.
struct Contents {
  std::optional<CheckpointReader> reader;
  std::vector<CheckpointTensor> tensors;
  std::int64_t block = 1;

  explicit Contents(const std::string& path) : reader(std::in_place, path) {
    tensors = reader->tensors();
    if (!reader->has_checksums()) return;
    reader->check_tensors();
    block = reader->checksum_block();
  }
};

// 1 for each of this rank's blocks whose data do not add up to their checksum.
std::vector<std::uint64_t> damaged_blocks(const Contents& contents, const TensorPieces& pieces,
                                          const VerifyProgress& progress) {
  std::vector<std::uint64_t> damaged(static_cast<std::size_t>(pieces.count()));
  std::vector<std::byte> buffer;
  std::vector<std::uint64_t> written;
  std::size_t current = contents.tensors.size();  // whose checksums these are
  std::int64_t done = 0;
  pieces.each_own([&](std::int64_t index, const TensorPiece& piece) {
    const CheckpointTensor& tensor = contents.tensors[piece.tensor];
    if (current != piece.tensor) written = contents.reader->checksums(tensor.name);
    current = piece.tensor;
    const std::int64_t bytes = pieces.bytes_of(piece);
    buffer.resize(std::max(buffer.size(), static_cast<std::size_t>(bytes)));
    const Tensor data(static_cast<void*>(buffer.data()), tensor.dtype, {piece.end - piece.begin});
    contents.reader->read(tensor.name, hdf5::flat_range_boxes(tensor.shape, piece.begin, piece.end),
                          data);
    const std::uint64_t sum = checksum_of(checksum_seed(tensor.name), piece.begin, data);
    if (sum != written[static_cast<std::size_t>(piece.number)])
      damaged[static_cast<std::size_t>(index)] = 1;
    done += bytes;
    if (progress) progress(done, pieces.own_bytes());
  });
  return damaged;
}

}  // namespace

Verification verify_checkpoint(const std::string& path, const Ranks& ranks,
                               const VerifyProgress& progress) {
  const auto start = Clock::now();
  std::optional<Contents> contents;
  agreed(ranks, [&] { contents.emplace(path); });
  Verification result;
  result.has_checksums = contents->reader->has_checksums();
  if (!result.has_checksums) return result;
  const TensorPieces pieces(contents->tensors, contents->block, ranks);
  std::vector<std::uint64_t> damaged;
  agreed(ranks, [&] { damaged = damaged_blocks(*contents, pieces, progress); });
  sum_over_ranks(ranks, damaged);
  pieces.each([&](std::int64_t index, const TensorPiece& piece) {
    if (damaged[static_cast<std::size_t>(index)] == 0) return;
    const CheckpointTensor& tensor = contents->tensors[piece.tensor];
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
