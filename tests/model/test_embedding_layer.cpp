// SPDX-License-Identifier: Apache-2.0
#include "src/model/embedding_layer.hpp"

#include "kernels/reference/embedding.hpp"
#include "tests/model/layer_run.hpp"
#include "tests/model/small_models.hpp"

namespace triax::test {
namespace {

TEST(VocabularyShard, PadsInMemoryAndCoversEveryTokenOnce) {
  for (const std::int64_t vocabulary : {1, 16, 21, 131, 50257})
    for (const int size : {1, 2, 3, 4, 8}) {
      std::int64_t next = 0;
      for (int rank = 0; rank < size; ++rank) {
        const VocabularyShard shard = vocabulary_shard(vocabulary, {size, rank, false});
        EXPECT_EQ(shard.rows, vocabulary_shard(vocabulary, {size, 0, false}).rows);
        EXPECT_EQ(shard.rows % 16, 0);
        EXPECT_EQ(shard.first, shard.rows * rank);
        if (shard.columns > 0) {
          EXPECT_EQ(shard.first, next);
        }
        next += shard.columns;
      }
      EXPECT_EQ(next, vocabulary) << size << " ranks";
    }
}

TEST(VocabularyParameter, HasTheUnpaddedShapeOnDisk) {
  const ParameterSpec spec = vocabulary_parameter("head.weight", "lm_head.weight",
                                                  small_model("llama"), {2, 1, true}, false);
  EXPECT_EQ(spec.shape, (Shape{16, 12}));
  ASSERT_EQ(spec.pieces.size(), 1U);
  EXPECT_EQ(spec.pieces[0].global, (Shape{21, 12}));
  EXPECT_EQ(spec.pieces[0].begin, (Shape{16, 0}));
  EXPECT_EQ(spec.pieces[0].extent, (Shape{5, 12}));
}

class EmbeddingLayerTest : public testing::TestWithParam<std::string> {
 protected:
  static constexpr std::int64_t batch = 2, length = 4;
  EmbeddingLayerTest() : model_(small_model(GetParam())) {}
  LayerRun run_of(const EmbeddingLayer& layer) const {
    return {layer, batch_shape(batch, length, {}), model_.hidden, 1.0F};
  }
  const std::vector<std::int32_t> tokens_ = {3, 0, 20, -1, 3, 7, 1, 19};  // one is padding
  ModelConfig model_;
};

TEST_P(EmbeddingLayerTest, IsTheReference) {
  const EmbeddingLayer layer(model_, {}, false);
  LayerRun run = run_of(layer);
  run.tokens = tokens_;
  const auto columns = static_cast<std::size_t>(model_.hidden);
  const auto positions = reference::positions(0, tokens_.size(), length);
  const bool learned = GetParam() == "gpt2";
  ASSERT_EQ(run.weights.size(), learned ? 2U : 1U);

  Values expected = reference::embedding_forward(tokens_, widened(run.weights[0]), columns);
  if (learned) {
    const Values at = reference::embedding_forward(positions, widened(run.weights[1]), columns);
    for (std::size_t i = 0; i < at.size(); ++i) expected[i] += at[i];
  }
  expect_close(run.forward({}), expected, 1e-6, "y");

  const std::vector<float> dy = random_floats(batch * length * model_.hidden, 2);
  run.backward(dy);
  const auto rows = run.weights[0].size() / columns;
  expect_close(run.gradients[0], reference::embedding_backward(tokens_, widened(dy), rows, columns),
               1e-6, "tokens");
  if (learned)
    expect_close(run.gradients[1],
                 reference::embedding_backward(positions, widened(dy),
                                               static_cast<std::size_t>(model_.positions), columns),
                 1e-6, "positions");
}

// The head of the same stage has already written the gradient.
TEST_P(EmbeddingLayerTest, AddsToTheHeadsGradientOfASharedMatrix) {
  const EmbeddingLayer alone(model_, {}, false);
  const EmbeddingLayer shared(model_, {}, true);
  LayerRun first = run_of(alone);
  LayerRun second = run_of(shared);
  first.tokens = second.tokens = tokens_;
  const std::vector<float> dy = random_floats(batch * length * model_.hidden, 2);
  std::fill(second.gradients[0].begin(), second.gradients[0].end(), 10.0F);
  first.forward({});
  first.backward(dy);
  second.forward({});
  second.backward(dy);
  Values expected = widened(first.gradients[0]);
  for (double& value : expected) value += 10.0;
  expect_close(second.gradients[0], expected, 1e-6, "tokens");
}

INSTANTIATE_TEST_SUITE_P(Architectures, EmbeddingLayerTest, testing::Values("gpt2", "llama"));

}  // namespace
}  // namespace triax::test
