// SPDX-License-Identifier: Apache-2.0
#pragma once
// A float32 matrix as bitsandbytes flattens it: (outputs, inputs), row by row.
#include <functional>
#include <string>
#include <vector>

#include "kernels/base/tensor.hpp"

namespace triax {

class FlatMatrix {
 public:
  /// Reads elements [begin, begin + out.elements()) of the tensor into `out`, contiguous float32.
  using Read = std::function<void(std::int64_t begin, const Tensor& out)>;

  /// The tensor `name` of `shape`, (outputs, inputs) or, `transposed`, (inputs, outputs): then the
  /// whole of it is held.
  FlatMatrix(std::string name, const Shape& shape, bool transposed, Read read);
  std::int64_t outputs() const { return outputs_; }
  std::int64_t inputs() const { return inputs_; }
  std::int64_t elements() const { return outputs_ * inputs_; }
  const std::string& name() const { return name_; }
  /// Elements [begin, begin + count), valid until the next call. Error where one is not finite.
  Tensor piece(std::int64_t begin, std::int64_t count);

 private:
  void read(std::int64_t begin, const Tensor& out);

  std::string name_;
  Read read_;
  std::int64_t outputs_, inputs_;
  std::vector<float> whole_, piece_;
};

}  // namespace triax
