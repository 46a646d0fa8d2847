// SPDX-License-Identifier: Apache-2.0
// Documents of attention.hpp: queries see keys of their own document only.
#include <algorithm>
#include <numeric>

#include "kernels/attention/attention.hpp"
#include "tests/kernels/attention_oracle.hpp"

namespace triax {
namespace {

using reference::Values;
using test::AttentionPass;
using test::expect_like_reference;

// Positions in documents of these lengths, over and over, in each of the pass's sequences; each
// sequence begins with another length.
std::vector<std::int32_t> positions_of(const AttentionPass& run,
                                       const std::vector<std::int32_t>& lengths) {
  std::vector<std::int32_t> positions;
  for (std::int64_t b = 0; b < run.n.B; ++b) {
    auto document = static_cast<std::size_t>(b);
    std::int32_t position = 0;
    for (std::int64_t t = 0; t < run.n.T; ++t) {
      positions.push_back(position++);
      if (position == lengths[document % lengths.size()]) {
        position = 0;
        ++document;
      }
    }
  }
  return positions;
}

// A pass with documents.
struct DocumentPass : AttentionPass {
  DocumentPass(const reference::AttentionSizes& sizes, bool fused, DType dtype,
               const std::vector<std::int32_t>& lengths)
      : AttentionPass(sizes, fused, dtype), positions(positions_of(*this, lengths)) {
    options.positions = Tensor(positions.data(), {n.B, n.T});
  }
  std::vector<std::int32_t> positions;
};

class AttentionDocuments : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, AttentionDocuments, test::every_type());

TEST_P(AttentionDocuments, OfAnyLengths) {  // of one token, around a tile, of several tiles
  const std::vector<std::vector<std::int32_t>> all = {{1},         {3, 1, 7},     {64}, {63, 65},
                                                      {1, 130, 2}, {70, 5, 5, 5}, {500}};
  for (const std::int64_t T : {5, 64, 65, 200})
    for (const auto& lengths : all) {
      DocumentPass run({2, T, 2, 2, 16}, T != 65, GetParam(), lengths);
      expect_like_reference(run);
    }
}

TEST_P(AttentionDocuments, OfGroupedHeadsOfAnySize) {
  for (const std::int64_t D : {1, 17, 64, 80, 128}) {
    DocumentPass run({2, 150, 6, 2, D}, true, GetParam(), {40, 77, 9});
    expect_like_reference(run);
  }
}

TEST_P(AttentionDocuments, WithWindowsSoftCapsAndDropout) {
  for (const std::int64_t window : {0, 1, 20, 64, 75})
    for (const float soft_cap : {0.0F, 2.0F})
      for (const float dropout : {0.0F, 0.3F}) {
        DocumentPass run({2, 171, 2, 1, 16}, true, GetParam(), {33, 90, 2});
        run.options.window = window;
        run.options.soft_cap = soft_cap;
        run.options.dropout = {.probability = dropout, .key = 42};
        run.options.total_heads = 2;
        expect_like_reference(run);
      }
}

// Everything that both passes write.
std::vector<Values> written_by(AttentionPass& pass, std::int64_t first = 0) {
  pass.forward();
  pass.backward();
  std::vector<Values> all = {test::to_double(pass.lse.slice(2, first, pass.n.T - first))};
  for (const Tensor* x : {&pass.out, &pass.dq, &pass.dk, &pass.dv})
    all.push_back(test::to_double(x->slice(1, first, pass.n.T - first)));
  return all;
}

TEST_P(AttentionDocuments, OneOfAllTokensHasTheBitsOfNone) {
  for (const std::int64_t window : {0, 20}) {
    DocumentPass one({1, 150, 4, 2, 24}, true, GetParam(), {500});
    AttentionPass none({1, 150, 4, 2, 24}, GetParam());
    one.options.window = none.options.window = window;
    EXPECT_EQ(written_by(one), written_by(none));
    DocumentPass two({1, 150, 4, 2, 24}, true, GetParam(), {149});
    two.options.window = window;
    EXPECT_NE(written_by(two), written_by(none));
  }
}

// Tiles of other documents are not read: spoilt ones change no bit.
TEST_P(AttentionDocuments, SkipsTilesOfOtherDocuments) {
  const std::int64_t begin = 128, T = 300;
  const auto results = [&](bool spoil) {
    DocumentPass run({1, T, 2, 2, 16}, false, GetParam(), {128, 60, 112});
    with_type(GetParam(), [&]<class E>(Type<E>) {
      for (std::int64_t i = 0; spoil && i < begin * run.k.stride(1); ++i)
        run.k.as<E>()[i] = run.v.as<E>()[i] = E(std::numeric_limits<float>::quiet_NaN());
    });
    return written_by(run, begin);
  };
  EXPECT_EQ(results(true), results(false));
}

TEST(AttentionDocuments, OfAnotherShapeAreAnError) {
  DocumentPass run({2, 10, 2, 2, 8}, true, DType::f32, {4});
  run.options.positions = run.options.positions.slice(1, 0, 9);
  EXPECT_ANY_THROW(run.forward());
  EXPECT_ANY_THROW(run.backward());
}

}  // namespace
}  // namespace triax
