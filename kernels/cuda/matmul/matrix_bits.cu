// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/matmul/matrix_bits.hpp"

#include <algorithm>
#include <vector>

#include "kernels/base/splitmix.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/launch/launch.hpp"
#include "kernels/cuda/launch/stream.hpp"
#include "kernels/cuda/launch/views.hpp"
#include "kernels/cuda/norm/row_sum.hpp"

namespace triax::cuda {
namespace {

static_assert(max_sum_parts * sizeof(MatrixBits) <= stream_scratch_bytes);

// parts[b] = the bits of the rows b, b + blocks, ... A zero of either sign counts as zero.
template <class Word>
struct BitsOfRows {
  static constexpr int max_threads = 256;
  MatrixBits* parts;
  Rows<const Word> matrix;
  std::int64_t blocks;

  TRIAX_DEVICE void operator()(const Block& block) const {
    constexpr auto magnitude = static_cast<Word>(~Word{0}) >> 1;
    std::uint64_t values[2] = {};  // of MatrixBits
    for (std::int64_t row = block.index_x(); row < matrix.rows; row += blocks)
      for (std::int64_t column = block.thread_x(); column < matrix.columns;
           column += block.threads_x()) {
        const Word word = matrix[row][column];
        const auto place = static_cast<std::uint64_t>(row * matrix.columns + column);
        values[0] += splitmix64(splitmix64(place) ^ word);
        values[1] += (word & magnitude) != 0 ? 1 : 0;
      }
    row_sums<2>(block, block.shared<std::uint64_t>(), values);
    if (block.thread_x() == 0) parts[block.index_x()] = {values[0], values[1]};
  }
};

template <class Word, class T>
void find_parts(const Stream& stream, MatrixBits* parts, const Rows<T>& matrix,
                std::int64_t blocks) {
  constexpr int threads = BitsOfRows<Word>::max_threads;
  const LaunchShape shape{.blocks_x = blocks,
                          .threads_x = threads,
                          .shared_bytes = 2 * (threads / warp) * sizeof(std::uint64_t)};
  const Rows<const Word> words{reinterpret_cast<const Word*>(matrix.data), matrix.rows,
                               matrix.columns, matrix.stride};
  launch(stream, shape, BitsOfRows<Word>{parts, words, blocks});
}

}  // namespace

MatrixBits matrix_bits(const Stream& stream, const Tensor& matrix) {
  const std::int64_t blocks = std::min(matrix.size(0), max_sum_parts);
  auto* parts = static_cast<MatrixBits*>(memory_of(stream, Kept::scratch).data());
  with_type(matrix.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> rows = device_rows<T>(matrix, "a matrix");
    if constexpr (sizeof(T) == sizeof(std::uint16_t))
      find_parts<std::uint16_t>(stream, parts, rows, blocks);
    else
      find_parts<std::uint32_t>(stream, parts, rows, blocks);
  });
  std::vector<MatrixBits> found(static_cast<std::size_t>(blocks));
  const Shape bytes{blocks * static_cast<std::int64_t>(sizeof(MatrixBits))};
  copy(stream, Tensor(found.data(), DType::u8, bytes),
       Tensor(parts, DType::u8, bytes, MemorySpace::device));
  stream.synchronize();
  MatrixBits all;
  for (const MatrixBits& part : found) all += part;
  return all;
}

}  // namespace triax::cuda
