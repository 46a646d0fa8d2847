// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/optimizer.hpp"

#include <cmath>

#include "tests/state/stage_grid.hpp"

namespace triax::test {
namespace {

// A different number for each element of each tensor.
float gradient_at(const std::string& name, std::int64_t index) {
  return std::sin(static_cast<float>(std::hash<std::string>{}(name) % 1000) +
                  0.37F * static_cast<float>(index));
}

void fill_gradients(const ParameterStore& store) {
  for (std::size_t b = 0; b < store.blocks().size(); ++b)
    for (const PlacedParameter& param : store.blocks()[b].params)
      for (const Piece& piece : param.spec.pieces)
        for_each_run(
            intersect(piece, param.spec.shape, 0, param.spec.shape.elements()), param.spec.shape,
            [&](std::int64_t at, std::int64_t global, std::int64_t count) {
              for (std::int64_t i = 0; i < count; ++i)
                store.gradients(static_cast<int>(b)).data.as<float>()[param.offset + at + i] =
                    gradient_at(piece.name, global + i);
            });
}

double expected_norm(const ModelConfig& model) {
  double squares = 0.0;
  for (const GlobalTensor& tensor : global_tensors(model))
    for (std::int64_t i = 0; i < tensor.shape.elements(); ++i) {
      const double value = gradient_at(tensor.name, i);
      squares += value * value;
    }
  return std::sqrt(squares);
}

// Each tensor counts once, whether replicated, tied, padded or shared by several tensor ranks.
// There are no messages, so the ranks' shares are added here.
TEST(GradientNorm, CountsEachTensorOnce) {
  for_each_grid([](const ModelConfig& model, const GridOfStages& places) {
    ProcessGrid grid(MPI_COMM_SELF, {});
    double squares = 0.0;
    for (const auto& stage : stages_of(model, places)) {
      ParameterStore store(*stage, grid, {});
      fill_gradients(store);
      squares += std::pow(Optimizer(store, {}, 1.0).gradient_norm(Stream{}, grid.world()), 2);
    }
    EXPECT_NEAR(std::sqrt(squares), expected_norm(model), 1e-7 * expected_norm(model));
  });
}

// Padding is not part of the model and does not count.
TEST(GradientNorm, IgnoresPadding) {
  const ModelConfig model = golden_model("gpt2-odd");  // 131 tokens in 144 rows
  ProcessGrid grid(MPI_COMM_SELF, {});
  const Stage stage(model, {}, 16);
  ParameterStore store(stage, grid, {});
  for (int b = 0; b < static_cast<int>(store.blocks().size()); ++b) {
    float* gradient = store.gradients(b).data.as<float>();
    std::fill_n(gradient, store.blocks()[static_cast<std::size_t>(b)].elements, 1e6F);
  }
  fill_gradients(store);
  EXPECT_NEAR(Optimizer(store, {}, 1.0).gradient_norm(Stream{}, grid.world()), expected_norm(model),
              1e-7 * expected_norm(model));
}

class OptimizerStep : public testing::Test {
 protected:
  OptimizerStep()
      : model_(golden_model("gpt2-deep")),
        grid_(MPI_COMM_SELF, {}),
        stage_(model_, {}, 16),
        store_(stage_, grid_, {}) {
    config_.learning_rate = 0.1;
    config_.beta2 = 0.99;
    config_.weight_decay = 0.5;
    for (int b = 0; b < static_cast<int>(store_.blocks().size()); ++b) {
      float* weight = store_.weights(b).data.as<float>();
      for_each_owned(
          store_.blocks()[static_cast<std::size_t>(b)],
          [&](const std::string&, std::int64_t, std::int64_t element) { weight[element] = 1.0F; });
    }
    fill_gradients(store_);
  }

  // Steps every bucket once, then calls visit(weight, gradient, whether it decays) for every
  // element.
  template <class Visit>
  void step(double clip, Visit&& visit) {
    Optimizer optimizer(store_, config_, clip);
    norm_ = optimizer.gradient_norm(Stream{}, grid_.world());
    for (int b = 0; b < static_cast<int>(store_.blocks().size()); ++b) {
      optimizer.step(Stream{}, b, -1, {config_.learning_rate, config_.beta1, config_.beta2, 1});
      for (const PlacedParameter& param : store_.blocks()[static_cast<std::size_t>(b)].params)
        for (const Piece& piece : param.spec.pieces)
          for_each_run(intersect(piece, param.spec.shape, 0, param.spec.shape.elements()),
                       param.spec.shape,
                       [&](std::int64_t at, std::int64_t global, std::int64_t count) {
                         for (std::int64_t i = 0; i < count; ++i)
                           visit(store_.weights(b).data.as<float>()[param.offset + at + i],
                                 gradient_at(piece.name, global + i), param.spec.shape.rank() == 2);
                       });
    }
  }

  ModelConfig model_;
  ProcessGrid grid_;
  Stage stage_;
  ParameterStore store_;
  OptimizerConfig config_;
  double norm_ = 0.0;
};

// At the first step m / (1 - beta1) is the gradient and v / (1 - beta2) its square.
TEST_F(OptimizerStep, DecaysMatricesOnly) {
  step(0.0, [&](float weight, double gradient, bool decays) {
    const double expected =
        1.0 - (decays ? 0.1 * 0.5 : 0.0) - 0.1 * gradient / (std::abs(gradient) + 1e-8);
    ASSERT_NEAR(weight, expected, 1e-5);
  });
}

// An epsilon as large as the gradients makes their scale after clipping visible.
TEST_F(OptimizerStep, ClipsByTheGlobalNorm) {
  config_.numbers["eps"] = 1.0;
  config_.weight_decay = 0.0;
  step(0.5, [&](float weight, double gradient, bool) {
    const double clipped = gradient * 0.5 / (norm_ + 1e-6);
    ASSERT_NEAR(weight, 1.0 - 0.1 * clipped / (std::abs(clipped) + 1.0), 1e-6);
  });
}

TEST_F(OptimizerStep, ASmallNormIsNotScaled) {
  config_.numbers["eps"] = 1.0;
  config_.weight_decay = 0.0;
  step(1e9, [&](float weight, double gradient, bool) {
    ASSERT_NEAR(weight, 1.0 - 0.1 * gradient / (std::abs(gradient) + 1.0), 1e-6);
  });
}

TEST_F(OptimizerStep, PaddingStaysZero) {
  step(1.0, [](float, double, bool) {});
  std::int64_t elements = 0, nonzero = 0;
  for (int b = 0; b < static_cast<int>(store_.blocks().size()); ++b)
    for (std::int64_t i = 0; i < store_.blocks()[static_cast<std::size_t>(b)].elements; ++i)
      nonzero += store_.weights(b).data.as<float>()[i] != 0.0F ? 1 : 0;
  for (const GlobalTensor& tensor : global_tensors(model_)) elements += tensor.shape.elements();
  EXPECT_EQ(nonzero, elements);  // 50 tokens in 64 rows
}

}  // namespace
}  // namespace triax::test
