// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/huggingface_weights.hpp"

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "src/model/architecture.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/state/stage_grid.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Weights of a golden case under other names.
class RenamedWeights : public testing::Test {
 protected:
  using Rename = std::function<std::string(const std::string& name)>;
  void rename(const std::string& golden, const Rename& renamed) {
    const std::string file = contents(read_golden(golden).directory + "/model.safetensors");
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    const auto before = nlohmann::json::parse(file.substr(sizeof length, length));
    nlohmann::json header;
    for (const auto& [name, entry] : before.items())
      header[name == "__metadata__" ? name : renamed(name)] = entry;
    const std::string text = header.dump();
    directory_.file(safetensors_single_name, bytes_of(std::uint64_t{text.size()}) + text +
                                                 file.substr(sizeof length + length));
  }
  void expect_values_of(const std::string& golden, const std::string& prefix) const {
    const ModelConfig model = golden_model(golden);
    const HuggingfaceWeights right(read_golden(golden).directory, model);
    const HuggingfaceWeights weights(directory_.path(), model);
    EXPECT_EQ(weights.names().prefix, prefix);
    EXPECT_THAT(weights.names().unused, IsEmpty());
    EXPECT_THAT(
        weights.names().warnings("DIR"),
        ElementsAre("DIR: the names of all tensors begin with " + prefix + ", which is removed"));
    for (const GlobalTensor& tensor : global_tensors(model)) {
      std::vector<float> expected(static_cast<std::size_t>(tensor.shape.elements()));
      std::vector<float> values(expected.size());
      right.read(tensor.name, 0, Tensor(expected.data(), {std::ssize(expected)}));
      weights.read(tensor.name, 0, Tensor(values.data(), {std::ssize(values)}));
      EXPECT_EQ(values, expected) << tensor.name;
    }
  }
  std::string error(const ModelConfig& model) const {
    return error_of([&] { HuggingfaceWeights(directory_.path(), model); });
  }
  TempDirectory directory_;
};

TEST_F(RenamedWeights, TheirOwnNamesHaveNoPrefix) {
  for (const std::string golden : {"gpt2-odd", "llama-odd", "qwen2-odd"}) {
    const HuggingfaceWeights weights(read_golden(golden).directory, golden_model(golden));
    EXPECT_THAT(weights.names().warnings("DIR"), IsEmpty()) << golden;
  }
}

TEST_F(RenamedWeights, APrefixOfAllIsTakenOff) {
  for (const std::string golden : {"gpt2-odd", "llama-odd", "qwen2-odd"})
    for (const std::string prefix : {"_orig_mod.", "module.", "model.", "module._orig_mod."}) {
      SCOPED_TRACE(golden + ' ' + prefix);
      rename(golden, [&](const std::string& name) { return prefix + name; });
      expect_values_of(golden, prefix);
    }
}

TEST_F(RenamedWeights, APrefixMayStandBeforeNamesOfTheModelWithoutItsHead) {
  rename("gpt2-odd", [](const std::string& name) {
    const std::string full = "transformer.";
    return "_orig_mod." + (name.starts_with(full) ? name.substr(full.size()) : name);
  });
  expect_values_of("gpt2-odd", "_orig_mod.");
}

TEST_F(RenamedWeights, ATiedHeadMayBeAllThatIsThereBehindAPrefix) {
  ModelConfig model = golden_model("gpt2-tiny");
  model.tied_embeddings = true;
  const ModelNames names = ModelNames::of(model);
  rename("gpt2-tiny", [&](const std::string& name) {
    return "module." + (name == names.token_embedding ? names.head : name);
  });
  const HuggingfaceWeights weights(directory_.path(), model);
  EXPECT_EQ(weights.names().prefix, "module.");
  EXPECT_THAT(weights.names().unused, IsEmpty());
}

// The model is a part of a larger one, so only some names have the prefix.
TEST_F(RenamedWeights, APrefixOfSomeIsNamedAndStays) {
  rename("qwen2-odd", [](const std::string& name) {
    return name.starts_with("lm_head") ? name : "language_model." + name;
  });
  EXPECT_THAT(error(golden_model("qwen2-odd")),
              AllOf(HasSubstr("tensor model.embed_tokens.weight is missing"),
                    HasSubstr("the files have language_model.model.embed_tokens.weight"),
                    HasSubstr("without the prefix language_model. ")));
}

TEST_F(RenamedWeights, APrefixOfAnotherModelIsNamed) {
  rename("gpt2-odd", [](const std::string& name) { return "_orig_mod." + name; });
  ModelConfig deeper = golden_model("gpt2-odd");
  deeper.layers = 7;
  EXPECT_THAT(error(deeper), AllOf(HasSubstr("is missing (the files have _orig_mod."),
                                   HasSubstr("check that config.json belongs to them")));
  ModelConfig wider = golden_model("gpt2-odd");
  wider.vocabulary = 132;
  EXPECT_THAT(error(wider),
              AllOf(HasSubstr("tensor _orig_mod.transformer.wte.weight has shape (131, 48)")));
}

}  // namespace
}  // namespace triax::test
