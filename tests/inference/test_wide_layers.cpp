// SPDX-License-Identifier: Apache-2.0
#include "src/inference/wide_layers.hpp"

#include <gmock/gmock.h>

#include "src/inference/generate.hpp"
#include "src/inference/likelihoods.hpp"
#include "tests/inference/engine/engine_model.hpp"
#include "tests/inference/held_model.hpp"

namespace triax::test {
namespace {

class WideLayersTest : public testing::TestWithParam<std::string> {
 protected:
  WideLayersTest()
      : path_(narrow_copy(directory_, GetParam(), DType::bf16)),
        narrow_(path_, "bf16"),
        wide_(path_, "f32") {}
  SharedDirectory directory_;
  std::string path_;
  HeldModel narrow_, wide_;
};

TEST_P(WideLayersTest, EveryParameterHasItsValueInFloat32) {
  GridModel &narrow = narrow_.model(), &wide = wide_.model();
  for (int l = narrow.stage().layers(0) - 1; l > 0; --l) {
    const auto& expected = wide.layer(l).weights;
    const auto& found = narrow.wide_layer(l).weights;
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].dtype(), DType::f32);
      ASSERT_EQ(found[i].shape(), expected[i].shape());
      EXPECT_TRUE(std::equal(found[i].as<float>(), found[i].as<float>() + found[i].elements(),
                             expected[i].as<float>()))
          << l << " " << i;
    }
    EXPECT_EQ(&narrow.wide_layer(l), &narrow.wide_layer(l));
  }
  EXPECT_EQ(wide.wide_layer(1).weights[0].data(), wide.layer(1).weights[0].data()) << "no copy";
}

// One text at a time, whose products take float32: the bits of float32.
TEST_P(WideLayersTest, TheGeneratorHasTheBitsOfFloat32) {
  Generator narrow(narrow_.model()), wide(wide_.model());
  const auto prompt = some_tokens(9, narrow.model().vocabulary, 3);
  EXPECT_EQ(narrow.logits(prompt), wide.logits(prompt));
  for (std::int32_t token = 0; token < 5; ++token)
    EXPECT_EQ(narrow.logits_after(token), wide.logits_after(token)) << token;
}

TEST_P(WideLayersTest, LikelihoodsHaveTheBitsOfFloat32) {
  const std::int64_t vocabulary = narrow_.model().model().vocabulary;
  std::vector<std::vector<std::int32_t>> texts;
  std::vector<LabelledSequence> sequences;
  for (std::uint64_t i = 0; i < 5; ++i)
    texts.push_back(some_tokens(static_cast<std::int64_t>(4 + 5 * i), vocabulary, i));
  for (const auto& text : texts)
    sequences.push_back({std::span(text).first(text.size() - 1), std::span(text).subspan(1)});
  const std::vector<double> expected = Likelihoods(wide_.model(), 40).of(sequences);
  EXPECT_EQ(Likelihoods(narrow_.model(), 40).of(sequences), expected);
  EXPECT_LT(expected[0], 0.0);
}

INSTANTIATE_TEST_SUITE_P(Families, WideLayersTest,
                         testing::Values("gpt2-odd", "llama-odd", "gemma2"), [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace triax::test
