// SPDX-License-Identifier: Apache-2.0
// A whole block against double-precision loops: its output against theirs, and every gradient
// against differences of theirs.
#include "src/model/block/block_layer.hpp"

#include "kernels/attention/rope.hpp"
#include "kernels/reference/attention.hpp"
#include "kernels/reference/gelu.hpp"
#include "kernels/reference/layernorm.hpp"
#include "kernels/reference/matmul.hpp"
#include "kernels/reference/rmsnorm.hpp"
#include "kernels/reference/rope.hpp"
#include "kernels/reference/swiglu.hpp"
#include "tests/model/layer_run.hpp"
#include "tests/model/small_models.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t batch = 2, length = 5;  // B, T

// The block of small_model in plain loops; weights in the order of BlockLayer::params().
class ReferenceBlock {
 public:
  ReferenceBlock(const ModelConfig& model, std::vector<Values> weights)
      : model_(model), weights_(std::move(weights)) {}

  Values operator()(const Values& x) {
    next_ = 0;
    const Values middle = sum(x, attention(norm(x)));
    return sum(middle, mlp(norm(middle)));
  }
  std::vector<Values>& weights() { return weights_; }

 private:
  bool gpt2() const { return model_.architecture == "gpt2"; }
  const Values& take() { return weights_[next_++]; }
  static Values sum(Values a, const Values& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }
  Values norm(const Values& x) {
    const Values& gain = take();
    if (!gpt2())
      return reference::rmsnorm_forward(x, gain, static_cast<double>(model_.norm_epsilon));
    return reference::layernorm_forward(x, gain, take(), static_cast<double>(model_.norm_epsilon));
  }
  // GPT-2 stores (in, out), the others (out, in).
  Values linear(const Values& x, std::int64_t in, std::int64_t out, bool bias) {
    Values weight = take();
    if (!gpt2()) {
      Values turned(weight.size());
      for (std::int64_t i = 0; i < in; ++i)
        for (std::int64_t o = 0; o < out; ++o)
          turned[static_cast<std::size_t>(i * out + o)] =
              weight[static_cast<std::size_t>(o * in + i)];
      weight = turned;
    }
    Values y = reference::matmul(x, weight, batch * length, out, in);
    if (bias) {
      const Values& shift = take();
      for (std::size_t i = 0; i < y.size(); ++i) y[i] += shift[i % shift.size()];
    }
    return y;
  }
  // Heads [first, first + count) of the fused rows.
  Values heads(const Values& qkv, std::int64_t width, std::int64_t first,
               std::int64_t count) const {
    Values out;
    for (std::int64_t row = 0; row < batch * length; ++row)
      for (std::int64_t i = first * model_.head_size; i < (first + count) * model_.head_size; ++i)
        out.push_back(qkv[static_cast<std::size_t>(row * width + i)]);
    const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    const bool turned = !gpt2() && first < model_.heads + model_.kv_heads;
    return turned ? reference::rope(out, size(length), size(count), size(model_.head_size),
                                    model_.rope_theta)
                  : out;
  }
  Values attention(const Values& h) {
    const std::int64_t d = model_.head_size;
    const std::int64_t width = (model_.heads + 2 * model_.kv_heads) * d;
    const Values qkv = linear(h, model_.hidden, width, model_.qkv_bias);
    const reference::AttentionSizes sizes{batch, length, model_.heads, model_.kv_heads, d};
    const Values out = reference::attention_forward(
                           sizes, heads(qkv, width, 0, model_.heads),
                           heads(qkv, width, model_.heads, model_.kv_heads),
                           heads(qkv, width, model_.heads + model_.kv_heads, model_.kv_heads),
                           1.0 / std::sqrt(static_cast<double>(d)), {})
                           .out;
    return linear(out, model_.heads * d, model_.hidden, model_.attention_output_bias);
  }
  Values mlp(const Values& h) {
    const std::int64_t inner = model_.intermediate;
    const Values hidden = linear(h, model_.hidden, gpt2() ? inner : 2 * inner, model_.mlp_bias);
    const Values active =
        gpt2() ? reference::gelu_forward(hidden)
               : reference::swiglu_forward(hidden, batch * length, static_cast<std::size_t>(inner));
    return linear(active, inner, model_.hidden, model_.mlp_bias);
  }

  ModelConfig model_;
  std::vector<Values> weights_;
  std::size_t next_ = 0;
};

class BlockLayerTest : public testing::TestWithParam<ModelConfig> {
 protected:
  BlockLayerTest()
      : model_(GetParam()),
        rope_memory_(static_cast<std::size_t>(2 * length * model_.head_size / 2) * sizeof(float)),
        rope_(make_rope()),
        layer_(model_, 1, {}, rope_),
        run_(layer_, batch_shape(batch, length, {}), model_.hidden, 0.3F),
        x_(random_floats(batch * length * model_.hidden, 1)),
        dy_(random_floats(batch * length * model_.hidden, 2)) {}

  Tensor make_rope() const {
    if (model_.architecture == "gpt2") return {};
    const Tensor table = rope_memory_.tensor(DType::f32, {2, length, model_.head_size / 2});
    const auto width = static_cast<std::size_t>(model_.head_size);
    rope_table(Stream{}, table, reference::rope_frequencies(model_.rope_theta, width));
    return table;
  }
  // <dy, block(x)>
  double objective(ReferenceBlock& block, const Values& x) const {
    const Values y = block(x);
    double sum = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(dy_[i]) * y[i];
    return sum;
  }

  ModelConfig model_;
  Buffer rope_memory_;
  Tensor rope_;
  BlockLayer layer_;
  LayerRun run_;
  std::vector<float> x_, dy_;
};

TEST_P(BlockLayerTest, ForwardIsTheReference) {
  ReferenceBlock block(model_, run_.wide_weights());
  expect_close(run_.forward(x_), block(widened(x_)), 2e-6, "y");
}

TEST_P(BlockLayerTest, GradientsAreTheReferencesDerivatives) {
  ReferenceBlock block(model_, run_.wide_weights());
  run_.forward(x_);
  const std::vector<float> dx = run_.backward(dy_);
  expect_close(dx, differences(widened(x_), [&](const Values& x) { return objective(block, x); }),
               1e-5, "dx");
  for (std::size_t i = 0; i < run_.gradients.size(); ++i) {
    const Values expected = differences(block.weights()[i], [&](const Values& weight) {
      const Values kept = std::exchange(block.weights()[i], weight);
      const double sum = objective(block, widened(x_));
      block.weights()[i] = kept;
      return sum;
    });
    expect_close(run_.gradients[i], expected, 1e-5, layer_.params()[i].label);
  }
}

TEST_P(BlockLayerTest, AccumulatesGradients) {
  run_.forward(x_);
  run_.backward(dy_);
  const auto once = run_.gradients;
  run_.accumulate = true;
  run_.forward(x_);
  run_.backward(dy_);
  for (std::size_t i = 0; i < once.size(); ++i) {
    Values twice = widened(once[i]);
    for (double& value : twice) value *= 2.0;
    expect_close(run_.gradients[i], twice, 1e-6, layer_.params()[i].label);
  }
}

// A second forward fills a dropped frame bit for bit.
TEST_P(BlockLayerTest, ARepeatedForwardChangesNothing) {
  const auto y = run_.forward(x_);
  const auto dx = run_.backward(dy_);
  const auto gradients = run_.gradients;
  EXPECT_EQ(run_.forward(x_), y);
  EXPECT_EQ(run_.backward(dy_), dx);
  EXPECT_EQ(run_.gradients, gradients);
}

TEST_P(BlockLayerTest, AttentionIsMadeAgainToTheLastBit) {
  const BatchShape shape = batch_shape(batch, length, {});
  const BlockLayer selective(model_, 1, {}, rope_, Recompute::attention);
  LayerRun run(selective, shape, model_.hidden, 0.3F);
  EXPECT_EQ(run.forward(x_), run_.forward(x_));
  EXPECT_EQ(run.backward(dy_), run_.backward(dy_));
  EXPECT_EQ(run.gradients, run_.gradients);
  EXPECT_LE(run.scratch_used(), selective.scratch_bytes(shape));
}

TEST_P(BlockLayerTest, AFrameWithoutAttentionIsSmallerByItsOutput) {
  const BatchShape shape = batch_shape(batch, length, {});
  const BlockLayer selective(model_, 1, {}, rope_, Recompute::attention);
  const BlockLayer whole(model_, 1, {}, rope_, Recompute::layer);
  const std::size_t output = batch * length * 4 * 4 * sizeof(float);  // 4 heads of 4
  const std::size_t lse = 192;  // B H T floats: 160 bytes, padded to cache lines
  EXPECT_EQ(layer_.frame_bytes(shape) - selective.frame_bytes(shape), output + lse);
  EXPECT_EQ(layer_.frame_bytes(shape), whole.frame_bytes(shape));
  EXPECT_FALSE(layer_.recomputed());
  EXPECT_FALSE(selective.recomputed());
  EXPECT_TRUE(whole.recomputed());
}

TEST_P(BlockLayerTest, TakesTheScratchItAsksFor) {
  run_.forward(x_);
  run_.backward(dy_);
  EXPECT_LE(run_.scratch_used(), layer_.scratch_bytes(batch_shape(batch, length, {})));
}

ModelConfig llama_with_mlp_bias() {
  ModelConfig model = small_model("llama");
  model.mlp_bias = true;
  return model;
}

INSTANTIATE_TEST_SUITE_P(Architectures, BlockLayerTest,
                         testing::Values(small_model("gpt2"), small_model("llama"),
                                         small_model("qwen2"), llama_with_mlp_bias()));

}  // namespace
}  // namespace triax::test
