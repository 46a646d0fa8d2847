// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/encode_lines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/chat/chat_files.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

std::string answer(int number) {
  return R"({"messages": [{"role": "user", "content": "n"}, {"role": "assistant", "content": ")" +
         std::to_string(number) + "\"}]}";
}

class EncodeLines : public testing::Test {
 protected:
  // The texts that train of all samples.
  std::vector<std::string> texts(SampleFile& samples) const {
    samples.close();
    std::vector<std::string> all;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto length = static_cast<std::size_t>(samples.lengths()[i]);
      ChatSample sample{std::vector<std::int32_t>(length), std::vector<std::int32_t>(length)};
      samples.read(i, sample.ids, sample.labels);
      all.push_back(trained_text(context_, sample));
    }
    return all;
  }
  TempDirectory directory_;
  ChatContext context_ = chat_context(
      chat_files("qwen2", {"<|im_start|>", "<|im_end|>"}, golden_text("templates/chatml.jinja")),
      chat_config(), 64);
};

// SHA-256 of "a" begins with ca978112ca1bbdca, that of "" with e3b0c44298fc1c14.
TEST(IsValidationLine, TheBeginOfItsSha256Decides) {
  EXPECT_FALSE(is_validation_line("a", 0x1.952fp-1)) << "0.ca97...";
  EXPECT_TRUE(is_validation_line("a", 0x1.953p-1));
  EXPECT_FALSE(is_validation_line("", 0x1.c761p-1)) << "0.e3b0...";
  EXPECT_TRUE(is_validation_line("", 0x1.c762p-1));
}

TEST(IsValidationLine, AFractionOfTheLines) {
  int tenth = 0, fifth = 0;
  for (int i = 0; i < 10000; ++i) {
    const std::string line = answer(i);
    const bool in_tenth = is_validation_line(line, 0.1);
    tenth += in_tenth ? 1 : 0;
    fifth += is_validation_line(line, 0.2) ? 1 : 0;
    EXPECT_LE(in_tenth, is_validation_line(line, 0.2)) << "a larger fraction takes it, too";
  }
  EXPECT_NEAR(tenth, 1000, 120) << "four standard deviations";
  EXPECT_NEAR(fifth, 2000, 160);
}

TEST_F(EncodeLines, SplitsTheLinesInTheirOrder) {
  std::string text;
  std::vector<std::string> expected[2];
  for (int i = 0; i < 3000; ++i) {
    const std::string line = answer(i);
    text += line + (i % 2 == 0 ? "\n" : "\r\n");
    expected[is_validation_line(line, 0.25) ? 1 : 0].push_back(std::to_string(i) + "<|im_end|>");
  }
  const std::string file = directory_.file("a.jsonl", text + "\r\n \n");
  for (const int threads : {1, 3}) {
    SampleFile train(directory_.path("train")), valid(directory_.path("valid"));
    encode_lines(context_, std::vector{file}, all_lines, threads, {train, &valid, 0.25});
    EXPECT_EQ(texts(train), expected[0]);
    EXPECT_EQ(texts(valid), expected[1]);
    EXPECT_EQ(train.counts().samples, std::ssize(expected[0]));
    EXPECT_EQ(valid.counts().samples, std::ssize(expected[1]));
  }
  SampleFile all(directory_.path("all"));
  encode_lines(context_, std::vector{file}, all_lines, 2, {all});
  EXPECT_EQ(all.counts().samples, 3000);
}

TEST_F(EncodeLines, TakesARangeOfAllFiles) {
  const std::vector<std::string> files = {
      directory_.file("a.jsonl", answer(0) + "\n\n" + answer(1) + "\n"),
      directory_.file("b.jsonl", answer(2)), directory_.file("c.jsonl", answer(3) + "\n\n\n{")};
  EXPECT_EQ(count_lines(files), 5);
  SampleFile samples(directory_.path("spool"));
  encode_lines(context_, files, {1, 4}, 2, {samples});
  EXPECT_EQ(texts(samples), (std::vector<std::string>{"1<|im_end|>", "2<|im_end|>", "3<|im_end|>"}))
      << "the broken line is not read";
}

}  // namespace
}  // namespace triax::test
