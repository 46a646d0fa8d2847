// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors of a Hugging Face directory by their names; a quantized one is the matrix that it decodes
// to.
#include <map>
#include <string>

#include "io/safetensors/safetensors.hpp"
#include "src/state/weights/quantized/quantization.hpp"
#include "src/state/weights/quantized/quantized_matrix.hpp"

namespace triax {

class WeightFiles {
 public:
  /// `transposed`: quantized matrices are given as (inputs, outputs), where the model has them so
  /// and the files, whatever the model, as (outputs, inputs). UsageError where the files contradict
  /// config.json or themselves.
  WeightFiles(const std::string& directory, bool transposed);
  WeightFiles(const WeightFiles&) = delete;  // the matrices refer to the reader
  WeightFiles& operator=(const WeightFiles&) = delete;
  /// As those of SafetensorsReader. The type of a quantized matrix holds its values exactly.
  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  const SafetensorsEntry& entry(const std::string& name) const;
  /// Elements [begin, begin + out.elements()) in float32: see SafetensorsReader::read().
  void read(const std::string& name, std::int64_t begin, const Tensor& out) const;
  /// Fills the parts of a box of a matrix with its own bits, or with those that quantize_box()
  /// makes of a plain one.
  void read_box(const std::string& name, const PackedBox& box, const PackedParts& parts) const;
  const Quantization& quantization() const { return quantization_; }

 private:
  SafetensorsReader reader_;
  Quantization quantization_;
  bool transposed_;
  QuantizedTensors quantized_;
  std::map<std::string, SafetensorsEntry> entries_;
};

}  // namespace triax
