// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/adapter_folder.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "src/config/lora/lora.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/model/families/families.hpp"
#include "tests/huggingface/huggingface_fixtures.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

ModelConfig adapted_model(const std::string& golden) {
  const std::string directory = read_golden(golden).directory;
  ModelConfig model = model_from_huggingface(contents(directory + "/config.json"), "config.json");
  model.lora = lora_of_adapter(contents(directory + "/adapter/adapter_config.json"), "file", model);
  return model;
}

std::vector<float> values_of(const SafetensorsReader& reader, const std::string& name) {
  std::vector<float> values(static_cast<std::size_t>(reader.entry(name).shape.elements()));
  reader.read(name, 0, Tensor(values.data(), {std::ssize(values)}));
  return values;
}

// The largest difference of a merged tensor from W + scale B A in doubles, whose outputs have the
// adapter's magnitudes if it has any.
double error_of_merge(const SafetensorsReader& base, const SafetensorsReader& adapter,
                      const SafetensorsReader& merged, const std::string& module, double scale,
                      bool input_first) {
  const std::vector<float> w = values_of(base, module + ".weight");
  const std::vector<float> a = values_of(adapter, "base_model.model." + module + ".lora_A.weight");
  const std::vector<float> b = values_of(adapter, "base_model.model." + module + ".lora_B.weight");
  const std::vector<float> found = values_of(merged, module + ".weight");
  const Shape shape = base.entry(module + ".weight").shape;
  const std::size_t inputs = static_cast<std::size_t>(shape[input_first ? 0 : 1]);
  const std::size_t outputs = static_cast<std::size_t>(shape[input_first ? 1 : 0]);
  const std::size_t rank = a.size() / inputs;
  const std::string magnitudes = "base_model.model." + module + ".lora_magnitude_vector";
  const std::vector<float> m =
      adapter.contains(magnitudes) ? values_of(adapter, magnitudes) : std::vector<float>();
  double largest = 0.0;
  for (std::size_t o = 0; o < outputs; ++o) {
    std::vector<double> row(inputs);
    double squares = 0.0;
    const auto at = [&](std::size_t i) { return input_first ? i * outputs + o : o * inputs + i; };
    for (std::size_t i = 0; i < inputs; ++i) {
      double sum = 0.0;
      for (std::size_t k = 0; k < rank; ++k)
        sum += static_cast<double>(b[o * rank + k]) * a[k * inputs + i];
      row[i] = w[at(i)] + scale * sum;
      squares += row[i] * row[i];
    }
    const double factor = m.empty() ? 1.0 : m[o] / std::sqrt(squares);
    for (std::size_t i = 0; i < inputs; ++i)
      largest = std::max(largest, std::abs(factor * row[i] - found[at(i)]));
  }
  return largest;
}

TEST(AdapterFolder, AMergedModelIsTheSum) {
  for (const char* name :
       {"gpt2-lora", "llama-lora", "gemma2-lora", "llama-saved", "gpt2-dora", "qwen2-dora"}) {
    SCOPED_TRACE(name);
    const TempDirectory dir;
    const std::string base = read_golden(name).directory;
    const MergeSummary sum =
        merge_adapter(base, base + "/adapter", dir.path("out"), {}, MPI_COMM_NULL);
    const ModelConfig model = adapted_model(name);
    std::int64_t changed = std::ssize(model.lora.modules);
    const SafetensorsReader from(base), adapter(base + "/adapter/adapter_model.safetensors"),
        merged(dir.path("out"));
    const bool input_first = family_of(model).block.order == WeightOrder::input_output;
    for (const auto& [module, shape] : model.lora.modules)
      EXPECT_LT(error_of_merge(from, adapter, merged, module, shape.scale, input_first), 1e-6);
    for (const auto& [tensor, entry] : from.entries())
      if (const std::string module = tensor.substr(0, tensor.rfind('.'));
          model.lora.saved.contains(module)) {
        ++changed;
        EXPECT_EQ(values_of(adapter, "base_model.model." + tensor), values_of(merged, tensor));
        EXPECT_NE(values_of(from, tensor), values_of(merged, tensor)) << tensor;
      } else if (!model.lora.modules.contains(module)) {
        EXPECT_EQ(values_of(from, tensor), values_of(merged, tensor)) << tensor;
      }
    EXPECT_EQ(sum.adapted, changed);
  }
}

TEST(AdapterFolder, OfAnotherModelIsRefused) {
  const TempDirectory dir;
  const std::string gpt2 = read_golden("gpt2-lora").directory;
  EXPECT_THAT(error_of([&] {
                merge_adapter(read_golden("llama-lora").directory, gpt2 + "/adapter",
                              dir.path("out"), {}, MPI_COMM_NULL);
              }),
              HasSubstr("is the name of no linear map of the model"));
  EXPECT_THAT(error_of([&] {
                merge_adapter(read_golden("gpt2-tiny").directory, gpt2 + "/adapter",
                              dir.path("out"), {}, MPI_COMM_NULL);
              }),
              HasSubstr("adapter tensor"));
}

// transformers would put an adapter beside the merged model on it again.
TEST(AdapterFolder, AnAdapterInTheFolderOfAModelIsRefusedOrReplaced) {
  const TempDirectory dir;
  const std::string base = read_golden("llama-lora").directory;
  std::filesystem::copy(base + "/adapter", dir.path("out"));
  const auto merge = [&](bool force) {
    return error_of([&] {
      merge_adapter(base, base + "/adapter", dir.path("out"), {.replace = force}, MPI_COMM_NULL);
    });
  };
  EXPECT_THAT(merge(false), HasSubstr("holds a model"));
  EXPECT_EQ(merge(true), "");
  EXPECT_FALSE(std::filesystem::exists(dir.path("out/adapter_config.json")));
  EXPECT_FALSE(std::filesystem::exists(dir.path("out/adapter_model.safetensors")));
}

TEST(AdapterFolder, ACheckpointOfAWholeModelHasNoAdapter) {
  const TempDirectory dir;
  const std::string checkpoint = imported(dir, "llama-tiny");
  EXPECT_THAT(error_of([&] { export_adapter(checkpoint, dir.path("out"), {}, MPI_COMM_NULL); }),
              HasSubstr("holds a whole model"));
}

}  // namespace
}  // namespace triax::test
