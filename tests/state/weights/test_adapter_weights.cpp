// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/adapter_weights.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <limits>

#include "io/safetensors/safetensors_writer.hpp"
#include "kernels/base/check.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/model/small_models.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

constexpr const char* query = "model.layers.1.self_attn.q_proj";

ModelConfig model() {
  ModelConfig made = small_model("llama");
  made.lora.modules[query] = {2, 4.0, 2.0};
  return made;
}

// A folder with A and B of the one module, and more.
void write(const std::string& directory, const std::vector<SafetensorsTensor>& more = {},
           float value = 0.5F, std::int64_t rank = 2) {
  std::vector<SafetensorsTensor> tensors = {
      {std::string(adapter_prefix) + query + lora_a_suffix, DType::f32, {rank, 12}},
      {std::string(adapter_prefix) + query + lora_b_suffix, DType::f32, {16, rank}}};
  tensors.insert(tensors.end(), more.begin(), more.end());
  SafetensorsWriter writer(directory + "/" + adapter_weights_name, tensors);
  for (const SafetensorsTensor& tensor : tensors) {
    std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()), value);
    writer.write(tensor.name, 0, Tensor(values.data(), {std::ssize(values)}));
  }
  writer.publish();
}

std::string error(const std::string& directory) {
  return error_of([&] { const AdapterWeights weights(directory, model()); });
}

TEST(AdapterWeights, AreReadByTheNamesOfTheModel) {
  const TempDirectory dir;
  write(dir.path());
  const AdapterWeights weights(dir.path(), model());
  std::vector<float> values(3);
  weights.read(std::string(query) + lora_b_suffix, 5, Tensor(values.data(), {3}));
  EXPECT_EQ(values, (std::vector<float>{0.5F, 0.5F, 0.5F}));
}

TEST(AdapterWeights, OfAnotherModelAreRefused) {
  const TempDirectory dir;
  EXPECT_THAT(error(dir.path()), HasSubstr("holds no adapter"));
  write(dir.path(), {}, 0.5F, 3);
  EXPECT_THAT(error(dir.path()), HasSubstr("has shape (3, 12)"));
  write(dir.path(), {{"base_model.model.lm_head.lora_A.weight", DType::f32, {2, 12}}});
  EXPECT_THAT(error(dir.path()), HasSubstr("lm_head.lora_A.weight has no place"));
  ModelConfig more = model();
  more.lora.modules["model.layers.0.self_attn.q_proj"] = {2, 4.0, 2.0};
  write(dir.path());
  EXPECT_THAT(error_of([&] { const AdapterWeights weights(dir.path(), more); }),
              HasSubstr("model.layers.0.self_attn.q_proj.lora_A.weight is missing"));
}

TEST(AdapterWeights, ThatAreNotFiniteAreRefused) {
  const TempDirectory dir;
  write(dir.path(), {}, std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(error(dir.path()), HasSubstr("not finite"));
}

}  // namespace
}  // namespace triax::test
