// SPDX-License-Identifier: Apache-2.0
#include "src/inference/grid_model.hpp"

#include "src/inference/generate.hpp"
#include "src/inference/model_files.hpp"
#include "tests/evaluate/golden_tasks.hpp"
#include "tests/support/matchers.hpp"

namespace triax::test {
namespace {

using Logits = std::vector<std::vector<float>>;

// Logits after growing texts.
Logits logits_on(MPI_Comm world, const GridShape& shape, const std::string& family) {
  ProcessGrid grid(world, shape);
  const ModelFiles files(golden_evaluate(family), grid);
  GridModel model(files.model(), grid, 12,
                  [&](const Stream& stream, const ModelConfig& config, ParameterStore& store) {
                    files.load(stream, config, store, grid);
                  });
  Generator generator(model);
  Logits all = {generator.logits({7, 300, 5, 19})};
  for (std::int32_t token = 20; token < 32; ++token) all.push_back(generator.logits_after(token));
  return all;
}

TEST(GridModel, LogitsAreThoseOfOneRankOnEveryGrid) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (const std::string family : {"llama", "gpt2"}) {
    const Logits alone = logits_on(MPI_COMM_SELF, {}, family);
    for (const int tensor : {1, 2}) {
      if (tensor > ranks) continue;
      const GridShape shape{.pipeline = ranks / tensor > 2 ? 2 : ranks / tensor, .tensor = tensor};
      const Logits found = logits_on(
          MPI_COMM_WORLD,
          {.data = ranks / tensor / shape.pipeline, .pipeline = shape.pipeline, .tensor = tensor},
          family);
      ASSERT_EQ(found.size(), alone.size());
      for (std::size_t i = 0; i < alone.size(); ++i) {
        ASSERT_EQ(found[i].size(), 320U);
        for (std::size_t v = 0; v < alone[i].size(); ++v)
          ASSERT_NEAR(found[i][v], alone[i][v], 2e-5F) << family << " " << shape.text();
      }
    }
  }
}

}  // namespace
}  // namespace triax::test
