// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs one linear map on one rank on its own tensors, as a layer would.
#include "tests/model/layer_run.hpp"

namespace triax::test {

/// The transpose of a (m, n).
inline Values transposed(const Values& a, std::int64_t m, std::int64_t n) {
  Values t(a.size());
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      t[static_cast<std::size_t>(j * m + i)] = a[static_cast<std::size_t>(i * n + j)];
  return t;
}

template <class Map>
struct MapRun {
  MapRun(const Map& linear, const BatchShape& of)
      : map(linear),
        shape(of),
        memory(linear.scratch_bytes(shape)),
        scratch(memory),
        grid(MPI_COMM_SELF, {}) {
    for (const ParameterSpec& spec : map.params()) {
      values.push_back(random_floats(spec.shape.elements(), 10 + values.size()));
      gradients.emplace_back(values.back().size(), 3.0F);
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      weights.emplace_back(values[i].data(), map.params()[i].shape);
      gradient_views.push_back({Tensor(gradients[i].data(), map.params()[i].shape)});
    }
  }
  Context context() {
    return {.stream = stream,
            .tensor = grid.tensor(),
            .shard = shard,
            .shape = shape,
            .scratch = scratch,
            .tokens = {},
            .labels = {},
            .training = training,
            .loss_sum = {},
            .dropout_key = 77};
  }
  const Map& map;
  BatchShape shape;
  Buffer memory;
  Arena scratch;
  ProcessGrid grid;
  Stream stream;
  TensorShard shard;
  bool training = true;
  std::vector<std::vector<float>> values, gradients;
  std::vector<Tensor> weights;
  std::vector<Gradient> gradient_views;
};

}  // namespace triax::test
