// SPDX-License-Identifier: Apache-2.0
#include "src/checkpoint/adapter_base.hpp"

#include <gmock/gmock.h>

#include "kernels/base/check.hpp"
#include "src/config/lora/lora.hpp"
#include "src/config/model/huggingface.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/golden.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ModelConfig model_with(const nlohmann::json& keys) {
  const std::string directory = read_golden("llama-lora").directory;
  ModelConfig model = model_from_huggingface(contents(directory + "/config.json"), "config.json");
  model.weights = directory;
  std::vector<LoraProblem> problems;
  model.lora = read_lora(keys, model, problems);
  return model;
}

CheckpointHeader header_of(const ModelConfig& model) {
  CheckpointHeader header;
  header.model = huggingface_config(model);
  if (model.lora) header.adapter = adapter_text(model, base_fingerprint(model.weights));
  return header;
}

TEST(AdapterBase, AHeaderSaysTheModelAgain) {
  const ModelConfig model = model_with({{"r", 3}, {"target_modules", "all-linear"}});
  const CheckpointHeader header = header_of(model);
  EXPECT_TRUE(holds_adapters(header));
  const ModelConfig again = model_of(header);
  EXPECT_EQ(again.lora.modules, model.lora.modules);
  EXPECT_EQ(again.weights, model.weights);
  EXPECT_FALSE(model_of(header_of(model_with(nlohmann::json::object()))).lora.modules.empty());
  EXPECT_EQ(adapter_text({}, "x"), "");
}

TEST(AdapterBase, OtherWeightsAreNoBaseOfTheAdapters) {
  const CheckpointHeader header = header_of(model_with({{"r", 3}}));
  const auto error = [&](const std::string& directory) {
    return error_of([&] { check_base(header, "step.h5", directory); });
  };
  EXPECT_EQ(error(read_golden("llama-lora").directory), "");
  EXPECT_THAT(error(read_golden("llama-tiny").directory),
              HasSubstr("step.h5 holds adapters of another base"));
  const TempDirectory empty;
  EXPECT_THAT(error(empty.path()), HasSubstr("a base that is gone"));
}

TEST(AdapterBase, OtherAdaptersCannotGoOn) {
  const ModelConfig three = model_with({{"r", 3}});
  ModelConfig whole = three;
  whole.lora = {};
  EXPECT_THAT(adapter_differences(header_of(three), three), IsEmpty());
  EXPECT_THAT(adapter_differences(header_of(whole), whole), IsEmpty());
  EXPECT_THAT(adapter_differences(header_of(three), whole),
              ElementsAre(HasSubstr("no section lora")));
  EXPECT_THAT(adapter_differences(header_of(whole), three),
              ElementsAre(HasSubstr("holds a whole model")));
  EXPECT_THAT(adapter_differences(header_of(three), model_with({{"r", 4}})),
              testing::Contains(HasSubstr("had rank 3")));
}

}  // namespace
}  // namespace triax::test
