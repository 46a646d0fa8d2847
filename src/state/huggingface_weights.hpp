#pragma once
// The weights of a Hugging Face directory as the tensors of a model.
#include <map>
#include <string>
#include <vector>

#include "io/safetensors.hpp"
#include "src/model/stage.hpp"

namespace triax {

class HuggingfaceWeights {
 public:
  /// `directory` holds model.safetensors or its shards. Error for a tensor of the model that is
  /// missing or has another shape.
  HuggingfaceWeights(const std::string& directory, const ModelConfig& model);
  /// Elements [begin, begin + out.elements()) of a tensor, by the model's name for it; see
  /// SafetensorsReader::read.
  void read(const std::string& tensor, std::int64_t begin, const Tensor& out) const;
  /// The type that holds every tensor of the model exactly: that of all of them, or float32 (of
  /// f64: rounded).
  DType type() const;
  /// Names in the files that the model does not use.
  const std::vector<std::string>& unused() const { return unused_; }

 private:
  SafetensorsReader reader_;
  std::map<std::string, std::string> names_;  // in the files, by the model's
  std::vector<std::string> unused_;
};

}  // namespace triax
