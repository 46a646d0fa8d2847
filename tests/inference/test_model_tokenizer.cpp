// SPDX-License-Identifier: Apache-2.0
#include "src/inference/model_tokenizer.hpp"

#include <gmock/gmock.h>

#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

const std::string folder = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/tokenizers/";

TEST(ModelTokenizer, OfADirectoryIsItsOwnOrTheGivenOne) {
  EXPECT_EQ(model_tokenizer(folder + "llama2").tokenizer->fingerprint(),
            open_tokenizer(folder + "llama2")->fingerprint());
  EXPECT_EQ(model_tokenizer(folder + "llama2", "bytes").tokenizer->vocabulary(), 256);
}

TEST(ModelTokenizer, IsAskedForWhereADirectoryHasNone) {
  const TempDirectory directory;
  directory.file("generation_config.json", "{}");
  EXPECT_THAT(error_of([&] { model_tokenizer(directory.path()); }),
              testing::HasSubstr("Set --tokenizer"));
  const ModelTokenizer given = model_tokenizer(directory.path(), "bytes");
  EXPECT_NE(given.files.find("generation_config.json"), nullptr);
}

}  // namespace
}  // namespace triax::test
