// SPDX-License-Identifier: Apache-2.0
// Products by cuBLASLt, whose algorithm is chosen by trials: on a GPU only.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/cuda/matmul/matrix_bits.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/random/random.hpp"
#include "tests/kernels/run.hpp"

namespace triax::cuda {
namespace {

struct Sizes {
  std::int64_t m, n, k;
};

class BlasOnDevice : public testing::TestWithParam<Sizes> {
 protected:
  void SetUp() override {
    if (!test::on_a_gpu()) GTEST_SKIP() << "needs a GPU";
    const auto [m, n, k] = GetParam();
    a_ = matrix(m, k, 1);
    b_ = matrix(n, k, 2);
    bias_ = matrix(1, n, 3);
    aux_ = matrix(m, n, 4);
  }

  static constexpr DType type = DType::bf16;

  static Buffer memory_of(std::int64_t rows, std::int64_t columns) {
    return Buffer(static_cast<std::size_t>(rows * columns) * size_of(type), MemorySpace::device);
  }

  static Buffer matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    Buffer made = memory_of(rows, columns);
    const Stream stream(MemorySpace::device);
    fill_normal(stream, made.tensor(type, {rows * columns}), seed, 0, 0.0F, 1.0F);
    stream.synchronize();
    return made;
  }

  // Bits that the products of a layer and its gradients write, one after another on a new stream.
  std::vector<MatrixBits> products(const char* trials) const {
    const auto [m, n, k] = GetParam();
    if (trials == nullptr)
      unsetenv("TRIAX_CUBLAS_TRIALS");
    else
      setenv("TRIAX_CUBLAS_TRIALS", trials, 1);
    const Stream stream(MemorySpace::device);
    const Tensor a = a_.tensor(type, {m, k}), b = b_.tensor(type, {n, k});
    const Tensor bias = bias_.tensor(type, {n}), aux = aux_.tensor(type, {m, n});
    std::vector<MatrixBits> bits;
    const auto add = [&](const Tensor& written) { bits.push_back(matrix_bits(stream, written)); };

    const Buffer out = memory_of(m, n), input = memory_of(m, n), weights = memory_of(n, k);
    const Tensor c = out.tensor(type, {m, n}), x = input.tensor(type, {m, n});
    const Tensor w = weights.tensor(type, {n, k});
    matmul(stream, c, a, b.transposed(), {.bias = bias});
    add(c);
    matmul(stream, c, a, b.transposed(), {.bias = bias, .gelu_input = x});
    add(c), add(x);
    matmul(stream, c, a, b.transposed(), {.gelu_gradient = {.input = aux, .output = x}});
    add(c);
    for (const bool accumulate : {false, true, true}) {
      matmul(stream, w, aux.transposed(), a, {.accumulate = accumulate});
      add(w);
    }
    return bits;
  }

 private:
  Buffer a_, b_, bias_, aux_;
};

TEST_P(BlasOnDevice, TrialsChangeNoBit) {
  const std::vector<MatrixBits> first = products("off");
  for (int round = 0; round < 3; ++round) EXPECT_EQ(first, products(nullptr)) << round;
}

// Sizes of layers of GPT-2, one that no tile divides, and one that is too small for trials.
INSTANTIATE_TEST_SUITE_P(Sizes, BlasOnDevice,
                         testing::Values(Sizes{8192, 6400, 1600}, Sizes{8192, 1600, 6400},
                                         Sizes{32768, 768, 768}, Sizes{4104, 3080, 1032},
                                         Sizes{64, 64, 64}));

}  // namespace
}  // namespace triax::cuda
