// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/quantize_model.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "io/hub/hub_directory.hpp"
#include "kernels/base/check.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/huggingface/bitsandbytes_encoding.hpp"
#include "src/model/families/families.hpp"
#include "src/model/families/linear_maps.hpp"
#include "src/state/weights/huggingface_weights.hpp"

namespace triax {
namespace {

const std::map<std::string, BitsandbytesFormat>& formats() {
  static const std::map<std::string, BitsandbytesFormat> all = {
      {"nf4", {.bits = 4}},
      {"nf4-double", {.bits = 4, .nested = true}},
      {"fp4", {.bits = 4, .fp4 = true}},
      {"fp4-double", {.bits = 4, .fp4 = true, .nested = true}},
      {"int8", {.bits = 8}}};
  return all;
}

// The weights of a directory, in float32.
class DirectoryWeights : public WeightSource {
 public:
  DirectoryWeights(const std::string& directory, const ModelConfig& model)
      : weights_(directory, model) {}
  const HuggingfaceWeights& weights() const { return weights_; }
  DType type(const std::string&) const override { return DType::f32; }
  void read(const std::string& tensor, std::int64_t begin, const Tensor& out) override {
    weights_.read(tensor, begin, out);
  }

 private:
  HuggingfaceWeights weights_;
};

ModelConfig model_in(const std::string& directory) {
  const std::string path = (std::filesystem::path(directory) / "config.json").string();
  std::ifstream file(path);
  std::ostringstream text;
  if (!(text << file.rdbuf()))
    throw UsageError(path + " cannot be read", "it is absent, empty or not readable",
                     "Give a Hugging Face model directory");
  return model_from_huggingface(text.str(), path);
}

ModelToWrite open_model(const std::string& directory, const std::string& name) {
  ModelToWrite made{.model = model_in(directory)};
  auto weights = std::make_unique<DirectoryWeights>(directory, made.model);
  const Quantization& before = weights->weights().quantization();
  if (before.method != QuantMethod::none)
    throw UsageError(fmt::format("{} is quantized already", directory), before.source,
                     "Give the model's original weights");
  made.type = weights->weights().type();
  BitsandbytesFormat format = formats().at(name);
  format.type = made.type;
  format.transposed = family_of(made.model).block.order == WeightOrder::input_output;
  for (int block = 0; block < made.model.layers; ++block)
    for (const std::string& map : linear_maps(made.model, block))
      format.maps.insert(map + ".weight");
  made.encoding = bitsandbytes_encoding(std::move(format));
  made.weights = std::move(weights);
  return made;
}

}  // namespace

std::vector<std::string> quantized_formats() {
  std::vector<std::string> names;
  for (const auto& [name, format] : formats()) names.push_back(name);
  return names;
}

QuantizeSummary quantize_model(const std::string& named, const std::string& format,
                               const std::string& out, const ExportOptions& options,
                               const Ranks& ranks) {
  const std::string directory = hub_snapshot(named);
  QuantizeSummary sum;
  sum.files = write_model(
      out, options, ranks, [] {},
      [&] {
        ModelToWrite made = open_model(directory, format);
        for (const GlobalTensor& tensor : global_tensors(made.model))
          sum.bytes_before +=
              tensor.shape.elements() * static_cast<std::int64_t>(size_of(made.type));
        for (int block = 0; block < made.model.layers; ++block)
          sum.quantized += std::ssize(linear_maps(made.model, block));
        if (ranks.rank == 0) made.tokenizer = read_tokenizer_files(directory);
        return made;
      });
  return sum;
}

}  // namespace triax
