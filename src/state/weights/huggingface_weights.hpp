// SPDX-License-Identifier: Apache-2.0
#pragma once
// Weights of a Hugging Face directory, by the names of a model's tensors.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/model/stage/stage.hpp"
#include "src/state/weights/quantized/weight_files.hpp"

namespace triax {

/// Differences between the names in the files and those of the model.
struct WeightNames {
  std::string
      prefix;  // common prefix of all names in the files, such as torch.compile's "_orig_mod."
  std::set<std::string> wrappers;   // removed from names, such as "_orig_mod." of a compiled layer
  std::size_t wrapped = 0;          // number of names with a wrapper
  std::vector<std::string> unused;  // names in the files that the model does not use
  /// One line per difference, for the user. `directory` holds the files.
  std::vector<std::string> warnings(const std::string& directory) const;
};

class HuggingfaceWeights {
 public:
  /// `directory` holds model.safetensors or its shards. A prefix common to all names there, and
  /// unknown to the model, is removed; so are the names of PyTorch's wrappers of modules. Error if
  /// a tensor of the model is missing or has another shape. Tensors of adapters are not looked for.
  /// Quantized weights are decoded where they are read: see WeightFiles.
  HuggingfaceWeights(const std::string& directory, const ModelConfig& model);
  /// Reads elements [begin, begin + out.elements()) of a tensor, given the model's name of it; see
  /// SafetensorsReader::read().
  void read(const std::string& tensor, std::int64_t begin, const Tensor& out) const;
  /// The type that holds all tensors of the model exactly: their common 16-bit type, else float32
  /// (f64 is rounded).
  DType type() const;
  const WeightNames& names() const { return names_; }
  /// WeightFiles::read_box of a tensor, given the model's name of it.
  void read_box(const std::string& tensor, const PackedBox& box, const PackedParts& parts) const;
  const Quantization& quantization() const { return reader_.quantization(); }

 private:
  WeightFiles reader_;
  WeightNames names_;
  std::map<std::string, std::string> name_of_;  // name in the files, by the model's name
};

}  // namespace triax
