// SPDX-License-Identifier: Apache-2.0
#include "src/state/parameters/parameter_store.hpp"

#include "tests/state/stage_grid.hpp"

namespace triax::test {
namespace {

constexpr int in_one = -1;  // not in pieces

TEST(ParameterStore, LayersSeeTheirPartOfTheBlocks) {
  const ModelConfig model = golden_model("llama-tiny");
  ProcessGrid grid(MPI_COMM_SELF, {});
  const Stage stage(model, {}, 16);
  ParameterStore store(stage, grid, {});
  std::int64_t elements = 0;
  for (std::size_t b = 0; b < store.blocks().size(); ++b) {
    const ParameterBlock& block = store.blocks()[b];
    elements += block.elements;
    for (const PlacedParameter& param : block.params)
      for (const ParameterUse& use : param.uses) {
        const LayerParameters& layer = store.layer(use.chunk, use.layer, 0);
        EXPECT_EQ(layer.weights[use.index].shape(), param.spec.shape);
        EXPECT_EQ(layer.weights[use.index].data(),
                  store.weights(static_cast<int>(b)).data.as<float>() + param.offset);
        EXPECT_EQ(layer.gradients[use.index].data.data(),
                  store.gradients(static_cast<int>(b)).data.as<float>() + param.offset);
      }
  }
  EXPECT_EQ(store.bytes().parameters, elements * 4);
  EXPECT_EQ(store.bytes().gradients, elements * 4);
  EXPECT_EQ(store.bytes(), state_bytes(store.blocks(), {}, {}));
}

TEST(ParameterStore, TiedLayersShareOneMatrix) {
  const ModelConfig model = golden_model("gpt2-tiny");
  ProcessGrid grid(MPI_COMM_SELF, {});
  const Stage stage(model, {}, 16);
  ParameterStore store(stage, grid, {});
  const int head = stage.layers(0) - 1;
  const LayerParameters& embedding = store.layer(0, 0, 0);
  const LayerParameters& output = store.layer(0, head, 0);
  EXPECT_EQ(embedding.weights.front().data(), output.weights.back().data());
  EXPECT_EQ(embedding.gradients.front().data.data(), output.gradients.back().data.data());
}

TEST(ParameterStore, BeginsWithZeros) {
  const ModelConfig model = golden_model("qwen2-odd");
  ProcessGrid grid(MPI_COMM_SELF, {});
  const Stage stage(model, {}, 16);
  const ParameterStore store(stage, grid, {});
  for (int b = 0; b < static_cast<int>(store.blocks().size()); ++b) {
    const float* weights = store.weights(b).data.as<float>();
    const float* gradients = store.gradients(b).data.as<float>();
    for (std::int64_t i = 0; i < store.blocks()[static_cast<std::size_t>(b)].elements; ++i) {
      ASSERT_EQ(weights[i], 0.0F);
      ASSERT_EQ(gradients[i], 0.0F);
    }
  }
}

// With one rank, every group has size one: sums change nothing.
TEST(ParameterStore, SumsOverOneRankAreTheGradientsThemselves) {
  const ModelConfig model = golden_model("gpt2-tiny");
  ProcessGrid grid(MPI_COMM_SELF, {});
  const Stage stage(model, {}, 16);
  ParameterStore store(stage, grid, {});
  float* gradient = store.gradients(0).data.as<float>();
  for (std::int64_t i = 0; i < store.blocks()[0].elements; ++i) gradient[i] = static_cast<float>(i);
  store.sum_over_tensor(Stream{}, 0);
  store.start_reduce(Stream{}, 0);
  store.progress();
  store.wait_reduce(Stream{}, 0);
  store.sum_tied(Stream{}, 0);
  store.start_gather(Stream{}, 0, in_one);
  store.wait_gather(Stream{}, 0, in_one);
  for (std::int64_t i = 0; i < store.blocks()[0].elements; ++i)
    ASSERT_EQ(gradient[i], static_cast<float>(i));
}

}  // namespace
}  // namespace triax::test
