// SPDX-License-Identifier: Apache-2.0
// Ids of tests/golden/tokenizers, which Hugging Face tokenizers and sentencepiece gave.
#include "src/text/open_tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/error_of.hpp"

namespace triax {
namespace {

using test::error_of;
using testing::HasSubstr;

const std::string folder = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/tokenizers/";

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    found.push_back(entry.path().filename().string());
  std::ranges::sort(found);
  return found;
}

class GoldenTokenizer : public testing::TestWithParam<std::string> {
 protected:
  std::string directory_ = folder + GetParam();
  std::shared_ptr<const Tokenizer> tokenizer_ = open_tokenizer(directory_);
  nlohmann::json cases_ = nlohmann::json::parse(std::ifstream(directory_ + "/cases.json"));
};

TEST_P(GoldenTokenizer, GivesTheSameIdsAndText) {
  const auto encoder = tokenizer_->encoder();
  ASSERT_GE(cases_.size(), 100U);
  for (int round = 0; round < 2; ++round)  // the second one from the cache of words
    for (const auto& row : cases_) {
      const std::string text = row.at("text");
      std::vector<std::int32_t> ids;
      encoder->encode(text, {row.at("special"), row.at("add")}, ids);
      EXPECT_EQ(ids, row.at("ids").get<std::vector<std::int32_t>>()) << row.dump();
      if (!row.contains("decoded")) continue;
      // Bytes that are no UTF-8 stay bytes here and are U+FFFD there.
      const std::string decoded = tokenizer_->decode(ids, false);
      EXPECT_EQ(decoded, row.at("decoded").get<std::string>()) << row.dump();
    }
}

TEST_P(GoldenTokenizer, KnowsItsTokens) {
  ASSERT_GT(tokenizer_->vocabulary(), 100);
  int found = 0;
  for (std::int32_t id = 0; id < tokenizer_->vocabulary(); ++id)
    found += tokenizer_->id_of(tokenizer_->token(id)) == id ? 1 : 0;
  EXPECT_EQ(found, tokenizer_->vocabulary());
  EXPECT_EQ(tokenizer_->token(tokenizer_->vocabulary()), "");
  EXPECT_EQ(tokenizer_->fingerprint(), open_tokenizer(directory_)->fingerprint());
  EXPECT_EQ(tokenizer_->fingerprint().size(), 64U);
  EXPECT_THAT(error_of([&] { tokenizer_->decode(std::vector{tokenizer_->vocabulary()}, false); }),
              HasSubstr("is not a token of this tokenizer"));
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTokenizer, testing::ValuesIn(names()), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(OpenTokenizer, TellsTokenizersApart) {
  std::vector<std::string> prints;
  for (const std::string& name : names())
    prints.push_back(open_tokenizer(folder + name)->fingerprint());
  std::ranges::sort(prints);
  EXPECT_EQ(std::ranges::adjacent_find(prints), prints.end());
}

TEST(OpenTokenizer, SplitsSpecialTokensUnlessTheyAreAllowed) {
  const auto tokenizer = open_tokenizer(folder + "llama3");
  const auto encoder = tokenizer->encoder();
  const std::int32_t end = tokenizer->id_of("<|end|>").value();
  std::vector<std::int32_t> split, taken;
  encoder->encode("a<|end|>", {}, split);
  encoder->encode("a<|end|>", {.special_tokens_in_text = true}, taken);
  EXPECT_EQ(std::ranges::count(split, end), 0);
  EXPECT_EQ(taken.back(), end);
  EXPECT_EQ(tokenizer->decode(split, true), "a<|end|>");
  EXPECT_EQ(tokenizer->decode(taken, true), "a");
}

// GPT-2's published tokenizer_config.json does not name the end, its config.json does.
TEST(OpenTokenizer, TakesTheEndOfDocumentsFromTheModelIfNothingElseNamesIt) {
  namespace fs = std::filesystem;
  const fs::path directory = fs::path(testing::TempDir()) / "tokenizer-of-a-model";
  fs::create_directories(directory);
  fs::copy_file(folder + "gpt2/tokenizer.json", directory / "tokenizer.json",
                fs::copy_options::overwrite_existing);
  const auto end = [&](const char* file, const char* text) {
    std::ofstream(directory / file) << text;
    return open_tokenizer(directory)->end_token();
  };
  EXPECT_EQ(end("config.json", R"({"vocab_size": 300})"), std::nullopt);
  EXPECT_EQ(end("config.json", R"({"eos_token_id": 5})"), 5);
  EXPECT_EQ(end("config.json", R"({"eos_token_id": [7, 9]})"), 7);
  EXPECT_EQ(end("config.json", R"({"eos_token_id": 99999999})"), std::nullopt);
  const std::string third = open_tokenizer(directory)->token(3);
  EXPECT_EQ(end("tokenizer_config.json", nlohmann::json{{"eos_token", third}}.dump().c_str()), 3);
  fs::remove_all(directory);
}

TEST(OpenTokenizer, RefusesWhatIsNoTokenizer) {
  EXPECT_THAT(error_of([] { open_tokenizer("/nowhere/at all"); }), HasSubstr("does not exist"));
  EXPECT_THAT(error_of([] { open_tokenizer(folder); }), HasSubstr("has no tokenizer"));
  EXPECT_THAT(error_of([] { open_tokenizer(folder + "gpt2/cases.json"); }),
              HasSubstr("cases.json"));
}

// A damaged file is an Error or a tokenizer, but no crash.
TEST(OpenTokenizer, SurvivesDamagedFiles) {
  std::mt19937 random(5);
  const std::string path = testing::TempDir() + "/damaged-tokenizer";
  int refused = 0;
  for (const char* name : {"sentencepiece-bpe/tokenizer.model",
                           "sentencepiece-unigram/tokenizer.model", "qwen2/tokenizer.json"}) {
    std::ifstream file(folder + name, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(file), {}};
    for (int i = 0; i < 60; ++i) {
      std::string bytes = whole.substr(0, i % 2 == 0 ? random() % whole.size() : whole.size());
      for (int flips = 0; flips < 3; ++flips)
        bytes[random() % bytes.size()] = static_cast<char>(random());
      std::ofstream(path, std::ios::binary) << bytes;
      try {
        std::vector<std::int32_t> ids;
        const auto tokenizer = open_tokenizer(path);
        tokenizer->encoder()->encode("Hello, wörld 123\n", {}, ids);
        (void)tokenizer->decode(ids, false);
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 60);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace triax
