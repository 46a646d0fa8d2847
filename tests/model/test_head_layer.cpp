// SPDX-License-Identifier: Apache-2.0
#include "src/model/head_layer.hpp"

#include "kernels/reference/cross_entropy.hpp"
#include "kernels/reference/layernorm.hpp"
#include "kernels/reference/matmul.hpp"
#include "kernels/reference/rmsnorm.hpp"
#include "tests/model/layer_run.hpp"
#include "tests/model/small_models.hpp"

namespace triax::test {
namespace {

// Logits (rows, V) without padding; weights in the order of HeadLayer::params().
Values reference_logits(const ModelConfig& model, const std::vector<Values>& weights,
                        const Values& x) {
  const double epsilon = static_cast<double>(model.norm_epsilon);
  const Values h = model.architecture == "gpt2"
                       ? reference::layernorm_forward(x, weights[0], weights[1], epsilon)
                       : reference::rmsnorm_forward(x, weights[0], epsilon);
  const std::int64_t rows = std::ssize(x) / model.hidden;
  Values logits(static_cast<std::size_t>(rows * model.vocabulary));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t v = 0; v < model.vocabulary; ++v)
      for (std::int64_t e = 0; e < model.hidden; ++e)
        logits[static_cast<std::size_t>(r * model.vocabulary + v)] +=
            h[static_cast<std::size_t>(r * model.hidden + e)] *
            weights.back()[static_cast<std::size_t>(v * model.hidden + e)];
  return logits;
}

double reference_loss(const ModelConfig& model, const std::vector<Values>& weights, const Values& x,
                      const std::vector<std::int32_t>& labels) {
  double sum = 0.0;
  for (const double loss :
       reference::cross_entropy_loss(reference_logits(model, weights, x), labels))
    sum += loss;
  return sum;
}

class HeadLayerTest : public testing::TestWithParam<std::string> {
 protected:
  static constexpr std::int64_t batch = 2, length = 4;
  HeadLayerTest()
      : model_(small_model(GetParam())),
        layer_(model_, {}),
        run_(layer_, batch_shape(batch, length, {}), model_.hidden, 0.3F),
        x_(random_floats(batch * length * model_.hidden, 1)) {
    run_.labels = {3, 0, 20, -1, 7, 7, 1, 19};  // one row is padding
    run_.loss_scale = 0.125F;
    std::fill(run_.weights.back().begin() + model_.vocabulary * model_.hidden,
              run_.weights.back().end(), 0.0F);
  }
  ModelConfig model_;
  HeadLayer layer_;
  LayerRun run_;
  std::vector<float> x_;
};

TEST_P(HeadLayerTest, LossAndGradientsAreTheReferences) {
  std::vector<Values> weights = run_.wide_weights();
  run_.forward(x_);
  const double loss = reference_loss(model_, weights, widened(x_), run_.labels);
  EXPECT_NEAR(run_.loss_sum, loss, 1e-6 * loss);
  const std::vector<float> dx = run_.backward({});
  const double scale = static_cast<double>(run_.loss_scale);
  const auto scaled_loss = [&](const Values& x) {
    return scale * reference_loss(model_, weights, x, run_.labels);
  };
  expect_close(dx, differences(widened(x_), scaled_loss), 1e-5, "dx");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Values expected = differences(weights[i], [&](const Values& weight) {
      const Values kept = std::exchange(weights[i], weight);
      const double value = scaled_loss(widened(x_));
      weights[i] = kept;
      return value;
    });
    expect_close(run_.gradients[i], expected, 1e-5,
                 layer_.params()[i].label);  // padded rows have no gradient
  }
}

TEST_P(HeadLayerTest, EvaluationComputesTheLossAlone) {
  run_.forward(x_);
  const double loss = run_.loss_sum;
  run_.loss_sum = 0.0;
  run_.training = false;
  run_.gradients.back().assign(run_.gradients.back().size(), 5.0F);
  run_.forward(x_);
  EXPECT_EQ(run_.loss_sum, loss);
  for (const float value : run_.gradients.back()) ASSERT_EQ(value, 5.0F);
}

TEST_P(HeadLayerTest, LogitsAreThoseOfARow) {
  const Values expected = reference_logits(model_, run_.wide_weights(), widened(x_));
  std::vector<float> logits(static_cast<std::size_t>(model_.vocabulary));
  for (const std::int64_t row : {0, 5}) {
    layer_.logits(run_.context(), run_.views(), Tensor(x_.data(), {batch * length, model_.hidden}),
                  row, Tensor(logits.data(), {model_.vocabulary}));
    const auto begin = expected.begin() + row * model_.vocabulary;
    expect_close(logits, {begin, begin + model_.vocabulary}, 1e-5, "logits");
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, HeadLayerTest, testing::Values("gpt2", "llama"));

// Each chunk rounds the weight gradient: with many chunks, 16-bit sums would lose small addends.
TEST(HeadLayerChunks, AreFewWhereGradientsHave16Bits) {
  ModelConfig model = small_model("llama");
  model.vocabulary = 1 << 19;
  const TensorShard shard = {2, 0};
  const HeadLayer layer(model, shard);
  const auto chunks = [&](DType gradients) {  // one message per chunk
    const BatchShape shape = batch_shape(1, 32768, shard, DType::bf16, gradients);
    return layer.messages(shape).forward.all_gather.messages;
  };
  EXPECT_EQ(chunks(DType::f32), 256U);
  EXPECT_EQ(chunks(DType::bf16), 32U);
}

// A vocabulary so large that the rows need several chunks.
TEST(HeadLayerChunks, AreOneHead) {
  ModelConfig model = small_model("llama");
  model.hidden = 4;
  model.head_size = 1;
  model.vocabulary = 300000;  // 64 rows of logits are more than 64 MiB
  constexpr std::int64_t rows = 130;
  const HeadLayer layer(model, {});
  LayerRun run(layer, batch_shape(1, rows, {}), model.hidden, 0.3F);
  ASSERT_LT(layer.scratch_bytes(batch_shape(1, rows, {})),
            static_cast<std::size_t>(rows * model.vocabulary) * sizeof(float));
  for (std::int64_t r = 0; r < rows; ++r) run.labels.push_back(static_cast<std::int32_t>(r * 2000));
  std::vector<float> x = random_floats(rows * model.hidden, 1);
  run.forward(x);
  const std::vector<float> dx = run.backward({});
  // Each row alone, as a batch of one row.
  const BatchShape one = batch_shape(1, 1, {});
  LayerRun single(layer, one, model.hidden, 0.3F);
  single.weights = run.weights;
  single.labels.resize(1);
  for (std::int64_t r = 0; r < rows; ++r) {
    single.accumulate = r > 0;
    single.labels[0] = run.labels[static_cast<std::size_t>(r)];
    const auto begin = x.begin() + r * model.hidden;
    single.forward({begin, begin + model.hidden});
    const std::vector<float> row = single.backward({});
    // Float32 sums of 300,000 elements, in another order for one row (AVX2: 3e-5).
    expect_close(row, {dx.begin() + r * model.hidden, dx.begin() + (r + 1) * model.hidden}, 1e-4,
                 "dx");
  }
  EXPECT_NEAR(single.loss_sum, run.loss_sum, 1e-6 * run.loss_sum);
  for (std::size_t i = 0; i < run.gradients.size(); ++i)
    expect_close(single.gradients[i], widened(run.gradients[i]), 1e-5, layer.params()[i].label);
}

}  // namespace
}  // namespace triax::test
