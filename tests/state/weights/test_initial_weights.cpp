// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/initial_weights.hpp"

#include <cmath>
#include <filesystem>

#include "kernels/base/with_type.hpp"
#include "tests/state/stage_grid.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// The global tensors that the stores of all ranks of a grid hold together.
template <class Fill>
GlobalValues assembled(const ModelConfig& model, const GridOfStages& places, Fill&& fill) {
  ProcessGrid grid(MPI_COMM_SELF, {});
  GlobalValues values = zeros(model);
  for (const auto& stage : stages_of(model, places)) {
    ParameterStore store(*stage, grid, {});
    fill(store);
    add_owned(values, store.blocks(), weights_of(store));
  }
  return values;
}

TEST(FreshWeights, AreTheSameOnEveryGrid) {
  for_each_grid([](const ModelConfig& model, const GridOfStages& grid) {
    const auto fill = [](ParameterStore& store) { initialize_weights(Stream{}, store, 7); };
    const GlobalValues whole = assembled(model, {}, fill);
    EXPECT_EQ(assembled(model, grid, fill), whole);
  });
}

// Copies that a rank does not own (key/value heads, biases, the last stage's embedding) equal the
// owner's values, and padding is 0.
TEST(FreshWeights, CopiesEqualTheirOwners) {
  for_each_grid([](const ModelConfig& model, const GridOfStages& places) {
    const GlobalValues whole =
        assembled(model, {}, [](ParameterStore& store) { initialize_weights(Stream{}, store, 7); });
    ProcessGrid grid(MPI_COMM_SELF, {});
    for (const auto& stage : stages_of(model, places)) {
      ParameterStore store(*stage, grid, {});
      initialize_weights(Stream{}, store, 7);
      for (std::size_t b = 0; b < store.blocks().size(); ++b) {
        std::vector<float> expected(static_cast<std::size_t>(store.blocks()[b].elements));
        for (const PlacedParameter& param : store.blocks()[b].params)
          for (const Piece& piece : param.spec.pieces)
            for_each_run(intersect(piece, param.spec.shape, 0, param.spec.shape.elements()),
                         param.spec.shape,
                         [&](std::int64_t at, std::int64_t global, std::int64_t count) {
                           std::copy_n(whole.at(piece.name).begin() + global, count,
                                       expected.begin() + param.offset + at);
                         });
        const float* found = store.weights(static_cast<int>(b)).data.as<float>();
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found)) << store.blocks()[b].name;
      }
    }
  });
}

TEST(FreshWeights, HaveTheDeviationsOfTheirArchitecture) {
  ModelConfig model = divisible_model("gpt2", false);
  model.hidden = 480;
  model.head_size = 40;
  model.intermediate = 500;
  const GlobalValues weights =
      assembled(model, {}, [](ParameterStore& store) { initialize_weights(Stream{}, store, 7); });
  const auto deviation = [&](const std::string& name) {
    const auto& values = weights.at(name);
    return summary_of(values).l2 / std::sqrt(static_cast<double>(values.size()));
  };
  EXPECT_NEAR(deviation("transformer.h.0.attn.c_attn.weight"), 0.02, 0.0002);
  EXPECT_NEAR(deviation("transformer.h.0.mlp.c_fc.weight"), 0.02, 0.0002);
  EXPECT_NEAR(deviation("transformer.h.2.attn.c_proj.weight"), 0.02 / std::sqrt(6.0), 0.0001);
  EXPECT_NEAR(deviation("transformer.h.2.mlp.c_proj.weight"), 0.02 / std::sqrt(6.0), 0.0001);
  for (const float gain : weights.at("transformer.ln_f.weight")) EXPECT_EQ(gain, 1.0F);
  for (const float bias : weights.at("transformer.h.1.attn.c_attn.bias")) EXPECT_EQ(bias, 0.0F);
  // Every tensor has its own random stream.
  EXPECT_NE(weights.at("transformer.h.0.attn.c_attn.weight"),
            weights.at("transformer.h.1.attn.c_attn.weight"));
}

TEST(FreshWeights, FollowTheSeed) {
  const ModelConfig model = golden_model("gpt2-deep");
  const auto with = [&](std::uint64_t seed) {
    return assembled(model, {},
                     [=](ParameterStore& store) { initialize_weights(Stream{}, store, seed); });
  };
  EXPECT_EQ(with(1), with(1));
  EXPECT_NE(with(1).at("transformer.wte.weight"), with(2).at("transformer.wte.weight"));
}

// A 16-bit run starts where the float32 run starts: the master copy has its weights, and the
// weights are those rounded.
template <class Fill>
void expect_rounded(const ModelConfig& model, Fill&& fill) {
  ProcessGrid grid(MPI_COMM_SELF, {});
  const Stage stage(model, {}, 16);
  ParameterStore exact(stage, grid, {});
  fill(exact, nullptr);
  for (const DType type : {DType::bf16, DType::f16}) {
    ParameterStore store(stage, grid, {.shard = {}, .type = type, .gradient_type = type});
    Optimizer optimizer(store, {}, 0.0);
    fill(store, &optimizer);
    std::int64_t wrong = 0, rounded = 0;
    for (int b = 0; b < static_cast<int>(store.blocks().size()); ++b)
      with_type(type, [&]<class T>(Type<T>) {
        const float* expected = exact.weights(b).data.as<float>();
        const float* master = optimizer.kept_state(b).master.data.as<float>();
        const T* weights = store.weights(b).data.as<T>();
        for (std::int64_t i = 0; i < store.weights(b).range.count(); ++i) {
          wrong += master[i] != expected[i] ? 1 : 0;
          wrong += static_cast<float>(weights[i]) != static_cast<float>(T(expected[i])) ? 1 : 0;
          rounded += static_cast<float>(weights[i]) != expected[i] ? 1 : 0;
        }
      });
    EXPECT_EQ(wrong, 0) << name_of(type);
    EXPECT_GT(rounded, 1000) << name_of(type);
  }
}

TEST(FreshWeights, In16BitsAreTheFloat32OnesRounded) {
  expect_rounded(golden_model("gpt2-tiny"), [](ParameterStore& store, Optimizer* optimizer) {
    initialize_weights(Stream{}, store, 7, optimizer);
  });
}

TEST(LoadedWeights, In16BitsAreTheFloat32OnesRounded) {
  const ModelConfig model = golden_model("qwen2-odd");
  expect_rounded(model, [&](ParameterStore& store, Optimizer* optimizer) {
    load_weights(Stream{}, store, model, read_golden("qwen2-odd").directory, optimizer);
  });
}

TEST(LoadedWeights, AreTheSameOnEveryGrid) {
  for (const std::string name : {"gpt2-odd", "llama-odd", "qwen2-odd"}) {
    const GoldenCase golden = read_golden(name);
    const ModelConfig model = golden_model(name);
    const auto fill = [&](ParameterStore& store) {
      EXPECT_THAT(load_weights(Stream{}, store, model, golden.directory).unused, ElementsAre());
    };
    const GlobalValues whole = assembled(model, {}, fill);
    for (const int tensor : {2, 3, 6})
      if (carries_heads(model, tensor)) {
        EXPECT_EQ(assembled(model, {tensor, 2}, fill), whole) << name << " tensor " << tensor;
      }
  }
}

class LoadedWeightsErrors : public testing::Test {
 protected:
  std::string error(const std::string& directory, const ModelConfig& model) {
    ProcessGrid grid(MPI_COMM_SELF, {});
    const Stage stage(model, {}, 16);
    ParameterStore store(stage, grid, {});
    return error_of([&] { load_weights(Stream{}, store, model, directory); });
  }
};

TEST_F(LoadedWeightsErrors, AMissingTensorIsNamed) {
  ModelConfig deeper = golden_model("gpt2-odd");
  deeper.layers = 7;
  EXPECT_THAT(error(read_golden("gpt2-odd").directory, deeper),
              AllOf(HasSubstr("transformer.h.6"), HasSubstr("missing"), HasSubstr("config.json")));
}

TEST_F(LoadedWeightsErrors, AnotherShapeIsNamed) {
  ModelConfig wider = golden_model("qwen2-odd");
  wider.vocabulary = 98;
  EXPECT_THAT(
      error(read_golden("qwen2-odd").directory, wider),
      AllOf(HasSubstr("model.embed_tokens.weight"), HasSubstr("(97, 48)"), HasSubstr("(98, 48)")));
}

TEST_F(LoadedWeightsErrors, ADirectoryWithoutWeightsIsNamed) {
  const TempDirectory empty;
  EXPECT_THAT(error(empty.path(), golden_model("qwen2-odd")), HasSubstr(empty.path()));
}

TEST(LoadedWeights, TensorsThatTheModelHasNotAreReturned) {
  ModelConfig shallower = golden_model("gpt2-odd");
  shallower.layers = 5;
  ProcessGrid grid(MPI_COMM_SELF, {});
  const Stage stage(shallower, {}, 16);
  ParameterStore store(stage, grid, {});
  const auto unused =
      load_weights(Stream{}, store, shallower, read_golden("gpt2-odd").directory).unused;
  EXPECT_EQ(unused.size(), 12U);
  for (const std::string& name : unused) EXPECT_THAT(name, HasSubstr("transformer.h.5."));
}

}  // namespace
}  // namespace triax::test
