// SPDX-License-Identifier: Apache-2.0
// The bits of matrices in device memory, on the emulator and on a GPU.
#include "kernels/cuda/matmul/matrix_bits.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/run.hpp"

namespace triax::cuda {
namespace {

class MatrixBitsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (test::space() != MemorySpace::device) GTEST_SKIP() << "a kernel of the device";
  }

  // The bits of `values`, read as a matrix of `type` whose rows lie `stride` elements apart.
  template <class Word>
  static MatrixBits bits(DType type, const std::vector<Word>& values, std::int64_t columns,
                         std::int64_t stride) {
    const Stream stream(MemorySpace::device);
    const auto rows = static_cast<std::int64_t>(values.size()) / stride;
    const Shape bytes{static_cast<std::int64_t>(values.size() * sizeof(Word))};
    const Buffer memory(values.size() * sizeof(Word), MemorySpace::device);
    std::vector<Word> copied = values;
    copy(stream, memory.tensor(DType::u8, bytes), Tensor(copied.data(), DType::u8, bytes));
    return matrix_bits(stream, memory.tensor(type, {rows, stride}).slice(1, 0, columns));
  }

  // More rows than partial sums, with values that differ.
  static std::vector<std::uint16_t> sample() {
    std::vector<std::uint16_t> values(3000 * 40);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::uint16_t>(1 + i * 2654435761U % 30011);
    return values;
  }
};

TEST_F(MatrixBitsTest, EqualMatricesHaveEqualBits) {
  const MatrixBits found = bits(DType::bf16, sample(), 37, 40);
  EXPECT_EQ(found, bits(DType::bf16, sample(), 37, 40));
  EXPECT_EQ(found.nonzero, 3000U * 37U);
}

TEST_F(MatrixBitsTest, OneBitOrTwoPlacesExchangedMakeOthers) {
  const MatrixBits found = bits(DType::bf16, sample(), 37, 40);
  for (const std::size_t at : {std::size_t{0}, std::size_t{36}, std::size_t{2999 * 40 + 36}}) {
    std::vector<std::uint16_t> changed = sample();
    changed[at] ^= 1;
    EXPECT_NE(found.sum, bits(DType::bf16, changed, 37, 40).sum) << at;
  }
  std::vector<std::uint16_t> exchanged = sample();
  std::swap(exchanged[3], exchanged[41]);
  EXPECT_NE(found.sum, bits(DType::bf16, exchanged, 37, 40).sum);
}

TEST_F(MatrixBitsTest, OnlyTheMatrixCounts) {
  const MatrixBits found = bits(DType::bf16, sample(), 37, 40);
  std::vector<std::uint16_t> changed = sample();
  changed[38] ^= 1;  // behind the columns of the first row
  EXPECT_EQ(found, bits(DType::bf16, changed, 37, 40));
}

TEST_F(MatrixBitsTest, ZerosOfEitherSignAreZeros) {
  EXPECT_EQ(bits<std::uint32_t>(DType::f32, {0, 0x80000000U, 1, 0x3f800000U}, 2, 2).nonzero, 2U);
}

}  // namespace
}  // namespace triax::cuda
