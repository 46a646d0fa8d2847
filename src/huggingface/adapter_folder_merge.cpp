// SPDX-License-Identifier: Apache-2.0
// Bases with their adapters merged.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "kernels/activation/elementwise.hpp"
#include "kernels/base/check.hpp"
#include "kernels/matmul/matmul.hpp"
#include "src/config/lora/lora.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/huggingface/adapter_folder.hpp"
#include "src/model/families/families.hpp"
#include "src/model/stage/stage.hpp"
#include "src/state/parameter_block.hpp"
#include "src/state/weights/adapter_weights.hpp"
#include "src/state/weights/huggingface_weights.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

// W + scale B A of each tensor W of a base, in float32, each output scaled to its magnitude where
// there are any; tensors that were trained whole.
class MergedWeights : public WeightSource {
 public:
  MergedWeights(const ModelConfig& model, ReadAdapter adapter)
      : model_(model), base_(model.weights, model), adapter_(std::move(adapter)) {
    for (const GlobalTensor& tensor : global_tensors(model)) {
      shapes_[tensor.name] = tensor.shape;
      if (tensor.adapter && tensor.of_base) trained_.insert(tensor.name);
    }
  }

  DType type_of_base() const { return base_.type(); }
  DType type(const std::string&) const override { return DType::f32; }

  void read(const std::string& tensor, std::int64_t begin, const Tensor& out) override {
    if (trained_.contains(tensor)) {
      adapter_(tensor, begin, out);
      return require_finite(tensor, out);
    }
    base_.read(tensor, begin, out);
    constexpr std::string_view end = ".weight";
    if (!tensor.ends_with(end)) return;
    const std::string module = tensor.substr(0, tensor.size() - end.size());
    const auto found = model_.lora.modules.find(module);
    if (found == model_.lora.modules.end()) return;
    load(module, static_cast<float>(found->second.scale));
    add(tensor, begin, out);
    if (model_.lora.dora) scale_outputs(shapes_.at(tensor), begin, out);
    require_finite(tensor, out);
  }

 private:
  // Reads A and B of a module, unless they are those of the last call.
  void load(const std::string& module, float factor) {
    if (module == module_) return;
    module_ = module;
    factor_ = factor;
    const auto take = [&](std::vector<float>& memory, const char* suffix) {
      const Shape shape = shapes_.at(module + suffix);
      memory.resize(static_cast<std::size_t>(shape.elements()));
      const Tensor whole(memory.data(), shape);
      adapter_(module + suffix, 0, whole);
      return whole;
    };
    a_ = take(a_memory_, lora_a_suffix);
    b_ = take(b_memory_, lora_b_suffix);
    if (model_.lora.dora) load_factors(module);
  }

  // Output o of a weight of `shape` holds element `at` of it.
  std::int64_t output_of(const Shape& shape, std::int64_t at) const {
    return input_first() ? at % shape[1] : at / shape[1];
  }
  bool input_first() const { return family_of(model_).block.order == WeightOrder::input_output; }

  // factors_ = magnitudes / norms of the outputs of W + factor B A.
  void load_factors(const std::string& module) {
    const std::string weight = module + ".weight";
    const Shape shape = shapes_.at(weight);
    std::vector<double> squares(static_cast<std::size_t>(shape[input_first() ? 1 : 0]));
    const std::int64_t rows = std::max<std::int64_t>(1, staged_elements / shape[1]);
    std::vector<float> values(static_cast<std::size_t>(rows * shape[1]));
    for (std::int64_t row = 0; row < shape[0]; row += rows) {
      const Tensor tile(values.data(), {std::min(rows, shape[0] - row), shape[1]});
      base_.read(weight, row * shape[1], tile.flat());
      add(weight, row * shape[1], tile.flat());
      for (std::int64_t i = 0; i < tile.elements(); ++i) {
        const double value = values[static_cast<std::size_t>(i)];
        squares[static_cast<std::size_t>(output_of(shape, row * shape[1] + i))] += value * value;
      }
    }
    factors_.resize(squares.size());
    adapter_(module + lora_magnitude_suffix, 0, Tensor(factors_.data(), {std::ssize(factors_)}));
    for (std::size_t o = 0; o < squares.size(); ++o)
      factors_[o] =
          squares[o] > 0.0 ? static_cast<float>(factors_[o] / std::sqrt(squares[o])) : 1.0F;
  }

  void scale_outputs(const Shape& shape, std::int64_t begin, const Tensor& out) const {
    for (std::int64_t i = 0; i < out.elements(); ++i)
      out.as<float>()[i] *= factors_[static_cast<std::size_t>(output_of(shape, begin + i))];
  }

  // Adds factor B A to elements [begin, begin + out.elements()) of W, by the rows that hold them.
  void add(const std::string& tensor, std::int64_t begin, const Tensor& out) {
    const std::int64_t columns = shapes_.at(tensor)[1];
    const std::int64_t first = begin / columns;
    const std::int64_t rows = (begin + out.elements() + columns - 1) / columns - first;
    sums_.resize(static_cast<std::size_t>(rows * columns));
    const Tensor product(sums_.data(), {rows, columns});
    const Stream host;
    if (input_first())
      matmul(host, product, a_.slice(1, first, rows).transposed(), b_.transposed());
    else
      matmul(host, product, b_.slice(0, first, rows), a_);
    scale(host, product, product, factor_);
    accumulate(host, out, product.flat().slice(0, begin - first * columns, out.elements()));
  }

  static void require_finite(const std::string& tensor, const Tensor& out) {
    if (!std::all_of(out.as<float>(), out.as<float>() + out.elements(),
                     [](float x) { return std::isfinite(x); }))
      throw Error(fmt::format("{} with its adapter has a value that is not finite", tensor),
                  "the sum of base and adapter is beyond float32, or the adapter is broken",
                  "Use another checkpoint or adapter of that training");
  }

  ModelConfig model_;
  HuggingfaceWeights base_;
  ReadAdapter adapter_;
  std::map<std::string, Shape> shapes_;
  std::set<std::string> trained_;
  std::string module_;
  float factor_ = 1.0F;
  std::vector<float> a_memory_, b_memory_, sums_;
  std::vector<float> factors_;  // by output; empty without magnitudes
  Tensor a_, b_;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!(text << file.rdbuf()))
    throw UsageError(path + " cannot be read", "it is absent, empty or not readable",
                     "Give a Hugging Face model directory, and a folder that PEFT or triax wrote");
  return text.str();
}

// Number of tensors of the base that merging changes.
std::int64_t changed_tensors(const ModelConfig& model) {
  return std::ssize(model.lora.modules) +
         std::ranges::count_if(global_tensors(model), [](const GlobalTensor& tensor) {
           return tensor.adapter && tensor.of_base;
         });
}

// The model in `base` with the adapters of the folder `adapter`.
ModelConfig model_with(const std::string& base, const std::string& adapter) {
  ModelConfig model = model_from_huggingface(text_of(base + "/config.json"), base + "/config.json");
  const std::string file = (fs::path(adapter) / adapter_config_name).string();
  model.lora = lora_of_adapter(text_of(file), file, model);
  model.weights = base;
  return model;
}

}  // namespace

ModelToWrite merged_model(const ModelConfig& model, ReadAdapter adapter,
                          std::optional<DType> type) {
  auto weights = std::make_unique<MergedWeights>(model, std::move(adapter));
  ModelToWrite made{.model = base_of(model)};
  made.type = type.value_or(weights->type_of_base());
  made.weights = std::move(weights);
  return made;
}

MergeSummary merge_adapter(const std::string& base, const std::string& adapter,
                           const std::string& directory, const ExportOptions& options,
                           const Ranks& ranks) {
  MergeSummary sum;
  sum.files = write_model(
      directory, options, ranks, [] {},
      [&] {
        const ModelConfig model = model_with(base, adapter);
        sum.adapted = changed_tensors(model);
        ModelToWrite made = merged_model(model, adapter_of_folder(adapter, model), options.type);
        if (ranks.rank == 0) made.tokenizer = read_tokenizer_files(base);
        return made;
      });
  return sum;
}

}  // namespace triax
