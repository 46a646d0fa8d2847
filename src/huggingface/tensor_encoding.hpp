// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a model directory stores the tensors of a model.
#include <string>
#include <vector>

#include "io/safetensors/safetensors_writer.hpp"
#include "src/model/stage/stage.hpp"

namespace triax {

/// Weights of a model by the names of its tensors. A rank calls it for tensors of its own files.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  /// Type in which read() gives a tensor.
  virtual DType type(const std::string& tensor) const = 0;
  /// Elements [begin, begin + out.elements()) of a tensor. out: contiguous, in host memory, of
  /// type(tensor).
  virtual void read(const std::string& tensor, std::int64_t begin, const Tensor& out) = 0;
};

class TensorEncoding {
 public:
  virtual ~TensorEncoding() = default;
  /// Stored tensors of a tensor of the model, all in one file.
  virtual std::vector<SafetensorsTensor> stored(const GlobalTensor& tensor) const = 0;
  /// Writes all of that.
  virtual void write(const GlobalTensor& tensor, WeightSource& from, SafetensorsWriter& to) = 0;
  /// The text of config.json, given that of the model alone.
  virtual std::string config(const std::string& model) const = 0;
};

/// Tensors as they are, in one type.
class PlainEncoding : public TensorEncoding {
 public:
  explicit PlainEncoding(DType type) : type_(type) {}
  std::vector<SafetensorsTensor> stored(const GlobalTensor& tensor) const override;
  /// A piece is read in the type of its source, so that unconverted values keep their bits.
  void write(const GlobalTensor& tensor, WeightSource& from, SafetensorsWriter& to) override;
  std::string config(const std::string& model) const override { return model; }

 private:
  DType type_;
  std::vector<std::byte> stored_, converted_;
};

}  // namespace triax
