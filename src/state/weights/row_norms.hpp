// SPDX-License-Identifier: Apache-2.0
#pragma once
// Norms of the weights of linear maps, output by output: initial magnitudes of their adapters.
#include <map>
#include <string>

#include "src/state/weights/huggingface_weights.hpp"

namespace triax {

class RowNorms {
 public:
  /// `source` outlives the object. Weights count as a run has them: rounded to `type`, or decoded
  /// from the bits that ModelConfig::kept names.
  RowNorms(const HuggingfaceWeights& source, const ModelConfig& model, DType type);
  /// Elements [begin, begin + out.elements()) of a tensor of magnitudes. out: float32, in host
  /// memory. Reads the rows of the weight of these outputs, tile by tile; all of a weight that is
  /// stored by inputs.
  void read(const std::string& tensor, std::int64_t begin, const Tensor& out) const;

 private:
  void add_rows(const std::string& weight, const Shape& shape, std::int64_t begin,
                const Tensor& squares) const;
  void add_columns(const std::string& weight, const Shape& shape, std::int64_t begin,
                   const Tensor& squares) const;
  void add_decoded(const std::string& weight, const Shape& shape, std::int64_t begin,
                   const Tensor& squares) const;
  // Elements of a weight from `begin` on, rounded.
  void take(const std::string& weight, std::int64_t begin, const Tensor& out) const;

  Stream host_;
  const HuggingfaceWeights& source_;
  KeptBits kept_;
  bool input_first_;
  DType type_;
  std::map<std::string, Shape> shapes_;  // of weights with magnitudes
};

}  // namespace triax
