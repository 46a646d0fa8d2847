// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs one layer on one rank with random weights, and differentiates double-precision references to
// check its gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "kernels/random/random.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/model/layer.hpp"

namespace triax::test {

using Values = std::vector<double>;

inline std::vector<float> random_floats(std::int64_t n, std::uint64_t key, float mean = 0.0F,
                                        float deviation = 1.0F) {
  std::vector<float> values(static_cast<std::size_t>(n));
  fill_normal(Stream{}, Tensor(values.data(), {n}), key, 0, mean, deviation);
  return values;
}

inline Values widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

/// Requires every element to be within `tolerance` x the largest expected magnitude.
inline void expect_close(const std::vector<float>& found, const Values& expected, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double largest = 1e-30;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], tolerance * largest) << what << " element " << i;
}

/// Gradient of f at x by central differences.
inline Values differences(Values x, const std::function<double(const Values&)>& f) {
  constexpr double h = 1e-5;
  Values gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + h;
    const double above = f(x);
    x[i] = at - h;
    gradient[i] = (above - f(x)) / (2 * h);
    x[i] = at;
  }
  return gradient;
}

class LayerRun {
 public:
  /// Weights are normal with the given deviation; gains (Initial::one) have mean 1.
  LayerRun(const Layer& layer, const BatchShape& shape, std::int64_t width, float deviation)
      : layer_(layer),
        shape_(shape),
        width_(width),
        grid_(MPI_COMM_SELF, {}),
        frame_(layer.frame_bytes(shape)),
        scratch_memory_(layer.scratch_bytes(shape)),
        scratch_(scratch_memory_) {
    std::uint64_t key = 100;
    for (const ParameterSpec& spec : layer.params()) {
      weights.push_back(random_floats(spec.shape.elements(), ++key,
                                      spec.initial == Initial::one ? 1.0F : 0.0F, deviation));
      gradients.emplace_back(weights.back().size(), -77.0F);  // a value that must be overwritten
    }
  }

  std::vector<float> forward(std::vector<float> x) {
    x_ = std::move(x);
    std::vector<float> y(static_cast<std::size_t>(shape_.local_rows * width_));
    layer_.forward(context(), views(), view(x_), view(y), frame());
    return y;
  }
  std::vector<float> backward(std::vector<float> dy) {
    std::vector<float> dx(static_cast<std::size_t>(shape_.local_rows * width_));
    layer_.backward(context(), views(), view(x_), view(dy), view(dx), frame());
    return dx;
  }

  Context context() {
    return {.stream = stream_,
            .tensor = grid_.tensor(),
            .shard = shard_,
            .shape = shape_,
            .scratch = scratch_,
            .tokens = Tensor(tokens.data(), {static_cast<std::int64_t>(tokens.size())}),
            .labels = Tensor(labels.data(), {static_cast<std::int64_t>(labels.size())}),
            .training = training,
            .loss_scale = loss_scale,
            .loss_sum = Tensor(&loss_sum, {1})};
  }
  LayerParameters views() {
    LayerParameters params;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const Shape& shape = layer_.params()[i].shape;
      params.weights.emplace_back(weights[i].data(), shape);
      params.gradients.push_back({Tensor(gradients[i].data(), shape), accumulate});
    }
    return params;
  }
  std::vector<Values> wide_weights() const {
    std::vector<Values> all;
    for (const auto& weight : weights) all.push_back(widened(weight));
    return all;
  }
  std::size_t scratch_used() const { return scratch_.high_water(); }

  std::vector<std::vector<float>> weights, gradients;  // in the order of params()
  std::vector<std::int32_t> tokens, labels;            // (rows)
  bool training = true, accumulate = false;
  float loss_scale = 1.0F;
  double loss_sum = 0.0;

 private:
  Tensor view(std::vector<float>& rows) const {
    return rows.empty() ? Tensor{} : Tensor(rows.data(), {shape_.local_rows, width_});
  }
  Tensor frame() const {
    return frame_.tensor(DType::u8, {static_cast<std::int64_t>(frame_.bytes())});
  }

  const Layer& layer_;
  BatchShape shape_;
  std::int64_t width_;
  ProcessGrid grid_;
  Stream stream_;
  TensorShard shard_;
  Buffer frame_, scratch_memory_;
  Arena scratch_;
  std::vector<float> x_;
};

}  // namespace triax::test
