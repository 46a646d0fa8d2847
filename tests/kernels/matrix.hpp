// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random memory for tests.
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/base/with_type.hpp"

namespace triax::test {

/// `count` normally distributed floats, the same for the same seed.
inline std::vector<float> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(engine);
  return values;
}

/// Elements of a view in row-major order, as double.
inline std::vector<double> to_double(const Tensor& view) {
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(view.elements()));
  Shape size({1, 1, 1, 1});
  Shape stride({0, 0, 0, 0});
  for (int d = 0; d < view.rank(); ++d) {
    size[4 - view.rank() + d] = view.size(d);
    stride[4 - view.rank() + d] = view.stride(d);
  }
  with_type(view.dtype(), [&]<class T>(Type<T>) {
    const T* data = view.as<const T>();
    for (std::int64_t i = 0; i < size[0]; ++i)
      for (std::int64_t j = 0; j < size[1]; ++j)
        for (std::int64_t k = 0; k < size[2]; ++k)
          for (std::int64_t l = 0; l < size[3]; ++l)
            out.push_back(static_cast<float>(
                data[i * stride[0] + j * stride[1] + k * stride[2] + l * stride[3]]));
  });
  return out;
}

}  // namespace triax::test
