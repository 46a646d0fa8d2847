// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/huggingface_weights.hpp"

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "src/model/families/families.hpp"
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
    const HuggingfaceWeights weights(directory_.path(), golden_model(golden));
    EXPECT_EQ(weights.names().prefix, prefix);
    EXPECT_THAT(
        weights.names().warnings("DIR"),
        ElementsAre("DIR: the names of all tensors begin with " + prefix + ", which is removed"));
    expect_values_of(golden);
  }
  void expect_values_of(const std::string& golden) const {
    const ModelConfig model = golden_model(golden);
    const HuggingfaceWeights right(read_golden(golden).directory, model);
    const HuggingfaceWeights weights(directory_.path(), model);
    EXPECT_THAT(weights.names().unused, IsEmpty());
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
  const ModelNames& names = family_of(model).block.outside;
  rename("gpt2-tiny", [&](const std::string& name) {
    return "module." + (name == names.token_embedding ? names.head : name);
  });
  const HuggingfaceWeights weights(directory_.path(), model);
  EXPECT_EQ(weights.names().prefix, "module.");
  EXPECT_THAT(weights.names().unused, IsEmpty());
}

// Puts `wrapper` behind the number of each layer.
std::string in_layers(const std::string& name, const std::string& wrapper) {
  for (const std::string before : {"h.", "layers."})
    if (const auto at = name.find("." + before); at != name.npos) {
      const auto end = name.find('.', at + 1 + before.size()) + 1;
      return name.substr(0, end) + wrapper + name.substr(end);
    }
  return name;
}

std::string warning_of(const std::vector<std::string>& lines) {
  return lines.size() == 1 ? lines.front() : fmt::format("{} lines", lines.size());
}

// As torch.compile names a model of which each layer is compiled.
TEST_F(RenamedWeights, WrappersInsideNamesAreTakenOff) {
  for (const std::string golden : {"gpt2-odd", "llama-odd", "qwen2-odd"})
    for (const std::string wrapper : {"_orig_mod.", "_fsdp_wrapped_module.",
                                      "_checkpoint_wrapped_module.", "_orig_mod._orig_mod."}) {
      SCOPED_TRACE(golden + ' ' + wrapper);
      std::size_t wrapped = 0;
      rename(golden, [&](const std::string& name) {
        wrapped += in_layers(name, wrapper) != name ? 1 : 0;
        return in_layers(name, wrapper);
      });
      const HuggingfaceWeights weights(directory_.path(), golden_model(golden));
      EXPECT_EQ(warning_of(weights.names().warnings("DIR")),
                fmt::format("DIR: the names of {} tensors contain {}, which is removed", wrapped,
                            wrapper.substr(0, wrapper.find('.') + 1)));
      expect_values_of(golden);
    }
}

TEST_F(RenamedWeights, WrappersOfSomeNamesAreTakenOff) {
  rename("qwen2-odd", [](const std::string& name) {
    return name.find("layers.1.") == name.npos ? name : "_orig_mod." + name;
  });
  expect_values_of("qwen2-odd");
  // One wrapper of the model and one of a linear map.
  rename("llama-odd", [](std::string name) {
    if (const auto at = name.find("q_proj."); at != name.npos) name.insert(at + 7, "_orig_mod.");
    return "_orig_mod." + name;
  });
  expect_values_of("llama-odd");
}

TEST_F(RenamedWeights, WrappersMayStandBehindAPrefix) {
  rename("llama-odd",
         [](const std::string& name) { return "module." + in_layers(name, "_orig_mod."); });
  const HuggingfaceWeights weights(directory_.path(), golden_model("llama-odd"));
  EXPECT_THAT(weights.names().warnings("DIR"),
              ElementsAre(HasSubstr("begin with module., which is removed"),
                          HasSubstr("contain _orig_mod., which is removed")));
  expect_values_of("llama-odd");
}

TEST_F(RenamedWeights, ATiedHeadMayBeWrapped) {
  ModelConfig model = golden_model("gpt2-tiny");
  model.tied_embeddings = true;
  const ModelNames& names = family_of(model).block.outside;
  rename("gpt2-tiny", [&](const std::string& name) {
    return name == names.token_embedding ? std::string("_orig_mod.") + names.head
                                         : in_layers(name, "_orig_mod.");
  });
  const HuggingfaceWeights weights(directory_.path(), model);
  EXPECT_THAT(weights.names().unused, IsEmpty());
}

TEST_F(RenamedWeights, WrappersInNamesOfAnotherModelAreNamed) {
  rename("qwen2-odd", [](const std::string& name) { return in_layers(name, "_orig_mod."); });
  ModelConfig deeper = golden_model("qwen2-odd");
  deeper.layers = 7;
  EXPECT_THAT(error(deeper),
              AllOf(HasSubstr("tensor model.layers.0."),
                    HasSubstr(" is missing (the files have model.layers.0._orig_mod."),
                    HasSubstr("without _orig_mod. their tensors are not those of the model")));
  // Two names of one tensor.
  rename("qwen2-odd", [](const std::string& name) {
    return name == "lm_head.weight" ? "model._orig_mod.norm.weight" : name;
  });
  EXPECT_THAT(error(golden_model("qwen2-odd")),
              AllOf(HasSubstr("tensor lm_head.weight is missing"),
                    HasSubstr("the files have model._orig_mod.norm.weight")));
  // Part of a longer word.
  rename("qwen2-odd", [](const std::string& name) { return in_layers(name, "my_orig_mod."); });
  EXPECT_THAT(error(golden_model("qwen2-odd")), HasSubstr("the model of config.json needs it"));
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
