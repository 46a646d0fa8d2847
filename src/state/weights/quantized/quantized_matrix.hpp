// SPDX-License-Identifier: Apache-2.0
#pragma once
// A quantized matrix in files, decoded tile by tile.
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "kernels/base/tensor.hpp"
#include "kernels/quant/packed_box.hpp"

namespace triax {

class QuantizedMatrix {
 public:
  virtual ~QuantizedMatrix() = default;
  virtual std::int64_t outputs() const = 0;
  virtual std::int64_t inputs() const = 0;
  /// The type that holds the decoded values exactly.
  virtual DType type() const = 0;
  /// Rows (outputs) and columns (inputs) from these on. out: (O, I) contiguous float32 in host
  /// memory. Thread-safe.
  virtual void read_tile(std::int64_t output, std::int64_t input, const Tensor& out) const = 0;
  /// Fills the parts of `box` with the matrix's own bits. UsageError where it has another format.
  virtual void read_box(const PackedBox& box, const PackedParts& parts) const = 0;
};

/// out = elements [begin, begin + n) of the matrix, (outputs, inputs) row-major, or of its
/// transpose. out: (n) contiguous float32 in host memory.
void read_elements(const QuantizedMatrix& matrix, bool transposed, std::int64_t begin,
                   const Tensor& out);

/// The quantized matrices of some files.
struct QuantizedTensors {
  std::map<std::string, std::unique_ptr<QuantizedMatrix>> matrices;  // "layers.0.q_proj.weight"
  std::set<std::string> parts;  // names of the stored tensors that make them up
};

}  // namespace triax
