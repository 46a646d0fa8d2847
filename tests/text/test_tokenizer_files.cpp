// SPDX-License-Identifier: Apache-2.0
#include "src/text/tokenizer_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "src/text/open_tokenizer.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

const std::string golden = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/tokenizers/";

std::vector<std::string> names_of(const TokenizerFiles& files) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files.bytes) names.push_back(name);
  return names;
}

TEST(TokenizerFiles, AreAllThatBelongToATokenizer) {
  const TempDirectory directory;
  fs::copy_file(golden + "gpt2/tokenizer.json", directory.path("tokenizer.json"));
  const std::string binary("\0\xff\r\n", 4);
  directory.file("tokenizer_config.json", R"({"eos_token": "<|endoftext|>"})");
  directory.file("chat_template.jinja", binary);
  fs::create_directory(directory.path("additional_chat_templates"));
  directory.file("additional_chat_templates/tool_use.jinja", "{{ tools }}");
  directory.file("generation_config.json", R"({"eos_token_id": [7]})");
  directory.file("config.json", R"({"eos_token_id": 3})");
  directory.file("model.safetensors", "weights");
  directory.file("merges.txt", "#version: 0.2\n");
  const TokenizerFiles files = read_tokenizer_files(directory.path());
  EXPECT_EQ(files.tokenizer, "tokenizer.json");
  EXPECT_THAT(names_of(files),
              UnorderedElementsAre("tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
                                   "additional_chat_templates/tool_use.jinja",
                                   "generation_config.json", "merges.txt"));
  EXPECT_EQ(files.bytes.at("chat_template.jinja"), binary);
  const OpenedTokenizer opened = open_with_facts(files);
  EXPECT_EQ(opened.tokenizer->fingerprint(), open_tokenizer(golden + "gpt2")->fingerprint());
  EXPECT_EQ(opened.tokenizer->end_token(), opened.tokenizer->id_of("<|endoftext|>"));
}

TEST(TokenizerFiles, OfOneFileLeaveOtherTokenizersOut) {
  const TempDirectory directory;
  directory.file("tokenizer.json", "of another tokenizer");
  directory.file("tokenizer_config.json", R"({"eos_token": "</s>"})");
  directory.file("mine.tiktoken", "IQ== 0\n");
  const TokenizerFiles files = read_tokenizer_files(directory.path("mine.tiktoken"));
  EXPECT_EQ(files.tokenizer, "mine.tiktoken");
  EXPECT_THAT(names_of(files), UnorderedElementsAre("mine.tiktoken", "tokenizer_config.json"));
}

// GPT-2's own folder says nothing of its pattern and names the end in config.json alone.
TEST(TokenizerFiles, AreOfGpt2WhereTheNameSaysSo) {
  const TempDirectory directory;
  directory.file("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3})");
  directory.file("merges.txt", "#version: 0.2\na b\n");
  directory.file("config.json", R"({"eos_token_id": 3})");
  EXPECT_THAT(error_of([&] { open_tokenizer(directory.path()); }), HasSubstr("pattern"));
  const TokenizerFiles files = read_tokenizer_files("gpt2:" + directory.path());
  EXPECT_THAT(names_of(files), UnorderedElementsAre("vocab.json", "merges.txt", "config.json"));
  const OpenedTokenizer opened = open_with_facts(files);
  std::vector<std::int32_t> ids;
  opened.tokenizer->encoder()->encode("abb", {}, ids);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{2, 1}));
  EXPECT_EQ(opened.tokenizer->end_token(), 3);
}

TEST(TokenizerFiles, OfAFolderOfTheHubsCacheAreThoseOfTheSnapshot) {
  const TempDirectory directory;
  const fs::path model = directory.path("models--org--name");
  fs::create_directories(model / "blobs");
  fs::create_directories(model / "refs");
  fs::create_directories(model / "snapshots/abc");
  fs::copy_file(golden + "gpt2/tokenizer.json", model / "blobs/1234");
  fs::create_symlink("../../blobs/1234", model / "snapshots/abc/tokenizer.json");
  std::ofstream(model / "refs/main") << "abc";
  EXPECT_EQ(open_tokenizer(model.string())->fingerprint(),
            open_tokenizer(golden + "gpt2")->fingerprint());
  fs::remove(model / "blobs/1234");
  EXPECT_THAT(error_of([&] { open_tokenizer(model.string()); }),
              HasSubstr("snapshots/abc/tokenizer.json is a link to nothing (../../blobs/1234)"));
  std::ofstream(model / "blobs/1234")
      << "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 17209920\n";
  EXPECT_THAT(error_of([&] { open_tokenizer(model.string()); }), HasSubstr("git lfs pull"));
}

}  // namespace
}  // namespace triax::test
