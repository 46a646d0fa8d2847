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

// The largest difference of a merged tensor from W + scale B A in doubles.
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
  double largest = 0.0;
  for (std::size_t o = 0; o < outputs; ++o)
    for (std::size_t i = 0; i < inputs; ++i) {
      double sum = 0.0;
      for (std::size_t k = 0; k < rank; ++k)
        sum += static_cast<double>(b[o * rank + k]) * a[k * inputs + i];
      const std::size_t at = input_first ? i * outputs + o : o * inputs + i;
      largest = std::max(largest, std::abs(w[at] + scale * sum - found[at]));
    }
  return largest;
}

TEST(AdapterFolder, AMergedModelIsTheSum) {
  for (const char* name : {"gpt2-lora", "llama-lora", "gemma2-lora"}) {
    SCOPED_TRACE(name);
    const TempDirectory dir;
    const std::string base = read_golden(name).directory;
    const MergeSummary sum =
        merge_adapter(base, base + "/adapter", dir.path("out"), {}, MPI_COMM_NULL);
    const ModelConfig model = adapted_model(name);
    EXPECT_EQ(sum.adapted, std::ssize(model.lora.modules));
    const SafetensorsReader from(base), adapter(base + "/adapter/adapter_model.safetensors"),
        merged(dir.path("out"));
    const bool input_first = family_of(model).block.order == WeightOrder::input_output;
    for (const auto& [module, shape] : model.lora.modules)
      EXPECT_LT(error_of_merge(from, adapter, merged, module, shape.scale, input_first), 1e-6);
    for (const auto& [tensor, entry] : from.entries())
      if (!model.lora.modules.contains(tensor.substr(0, tensor.rfind('.')))) {
        EXPECT_EQ(values_of(from, tensor), values_of(merged, tensor)) << tensor;
      }
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
