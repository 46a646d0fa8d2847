#pragma once
// The weights of a Hugging Face directory as the tensors of a model.
#include <map>
#include <string>
#include <vector>

#include "io/safetensors/safetensors.hpp"
#include "src/model/stage.hpp"

namespace triax {

/// How the names in the files differ from those of the model.
struct WeightNames {
  std::string prefix;  // before every name in the files, as torch.compile's "_orig_mod."
  std::vector<std::string> unused;  // names in the files that the model does not use
  /// A line for the user of each; `directory` holds the files.
  std::vector<std::string> warnings(const std::string& directory) const;
};

class HuggingfaceWeights {
 public:
  /// `directory` holds model.safetensors or its shards. A prefix of all names there that the
  /// model's names do not have is taken off. Error for a tensor of the model that is missing or has
  /// another shape.
  HuggingfaceWeights(const std::string& directory, const ModelConfig& model);
  /// Elements [begin, begin + out.elements()) of a tensor, by the model's name for it; see
  /// SafetensorsReader::read.
  void read(const std::string& tensor, std::int64_t begin, const Tensor& out) const;
  /// The type that holds every tensor of the model exactly: that of all of them, or float32 (of
  /// f64: rounded).
  DType type() const;
  const WeightNames& names() const { return names_; }

 private:
  SafetensorsReader reader_;
  WeightNames names_;
  std::map<std::string, std::string> name_of_;  // in the files, by the model's
};

}  // namespace triax
