// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/prepare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "io/tokens/token_reader.hpp"
#include "src/data/chat/sample_file.hpp"
#include "tests/data/chat/chat_files.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

constexpr int length = 24;  // T

std::string line(const std::string& question, const std::string& answer) {
  return R"({"messages": [{"role": "user", "content": ")" + question +
         R"("}, {"role": "assistant", "content": ")" + answer + "\"}]}\n";
}

class PrepareTest : public testing::Test {
 protected:
  PrepareTest() { data_.sequence_length = length; }
  DataConfig prepared(const std::string& file) const {
    DataConfig data = data_;
    data.train = {file};
    prepare_conversations(MPI_COMM_NULL, files_, conversation_, directory_.path("data"), 2, data);
    return data;
  }
  TempDirectory directory_;
  TokenizerFiles files_ =
      chat_files("qwen2", {"<|im_start|>", "<|im_end|>"}, golden_text("templates/chatml.jinja"));
  ConversationConfig conversation_ = chat_config();
  DataConfig data_;
};

TEST_F(PrepareTest, ASampleIsARow) {
  const std::string file = directory_.file("a.jsonl", line("a", "x") + "\n" + line("b", "yy"));
  const DataConfig data = prepared(file);
  const TokenReader reader(data.train, length, false, 1);
  ASSERT_EQ(reader.samples(), 2);
  EXPECT_TRUE(reader.has_labels());
  const ChatContext context = chat_context(files_, conversation_, length);
  std::vector<std::int32_t> ids(length + 1), labels(length + 1);
  for (std::int64_t i = 0; i < 2; ++i) {
    reader.sample(i, ids, labels);
    EXPECT_EQ(trained_text(context, {ids, labels}), i == 0 ? "x<|im_end|>" : "yy<|im_end|>");
    EXPECT_EQ(labels.back(), ignored_label) << "the next row's first token";
  }
}

TEST_F(PrepareTest, FilesAreFoundAgainByTheirContent) {
  const std::string file = directory_.file("a.jsonl", line("a", "x"));
  const std::string first = prepared(file).train[0];
  const auto time = std::filesystem::last_write_time(first);
  EXPECT_EQ(prepared(file).train[0], first);
  EXPECT_EQ(std::filesystem::last_write_time(first), time);
  EXPECT_EQ(prepared(first).train[0], first) << "a prepared file stays as it is";
  conversation_.train_on = "all";
  const std::string other = prepared(file).train[0];
  EXPECT_NE(other, first);
  directory_.file("a.jsonl", line("a", "z"));
  EXPECT_NE(prepared(file).train[0], other);
}

// Rows of a second file do not move: files are read as one.
TEST_F(PrepareTest, FilesAreReadAsOne) {
  DataConfig data = data_;
  data.train = {directory_.file("a.jsonl", line("a", "x")),
                directory_.file("b.jsonl", line("b", "y"))};
  data.valid = data.train;
  prepare_conversations(MPI_COMM_NULL, files_, conversation_, directory_.path("data"), 2, data);
  EXPECT_EQ(data.valid, data.train);
  const TokenReader reader(data.train, length, false, 1);
  const TokenReader second({data.train[1]}, length, false, 1);
  ASSERT_EQ(reader.samples(), 2);
  std::vector<std::int32_t> ids(length + 1), alone(length + 1);
  reader.sample(1, ids);
  second.sample(0, alone);
  EXPECT_EQ(ids, alone);
}

TEST_F(PrepareTest, PairsAreRowsInTurn) {
  conversation_.format = "preference";
  files_ = chat_files("qwen2", {"</s>"}, "");
  const DataConfig data =
      prepared(directory_.file("a.jsonl", R"({"prompt": "a", "chosen": "b", "rejected": "cc"})"));
  const TokenReader reader(data.train, 2 * length, false, 1);
  ASSERT_EQ(reader.samples(), 1);
  std::vector<std::int32_t> ids(2 * length + 1), labels(2 * length + 1);
  reader.sample(0, ids, labels);
  const ChatContext context = chat_context(files_, conversation_, length);
  EXPECT_EQ(trained_text(context, {ids, labels}), "b</s>|cc</s>");
  EXPECT_EQ(ids.front(), ids[length]) << "the prompt is in both rows";
}

TEST_F(PrepareTest, PackedRowsHoldWholeSamplesAsDocuments) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += line(std::string(static_cast<std::size_t>(i % 4), 'q'), "x");
  const std::string file = directory_.file("a.jsonl", text);
  data_.sequence_length = 3 * length;
  const std::string plain = prepared(file).train[0];
  data_.mask_documents = true;
  const DataConfig single = prepared(file);
  data_.packing = true;
  const DataConfig packed = prepared(file);
  EXPECT_NE(single.train[0], plain);
  EXPECT_NE(packed.train[0], single.train[0]);
  const ChatContext context = chat_context(files_, conversation_, data_.sequence_length);
  const auto samples = [&](const DataConfig& data) {
    TokenReader reader(data.train, data_.sequence_length, false, 1);
    reader.find_documents(-1, false);
    std::vector<std::vector<std::int32_t>> all;
    const auto size = static_cast<std::size_t>(data_.sequence_length) + 1;
    std::vector<std::int32_t> ids(size), labels(size);
    std::vector<std::uint8_t> starts(size);
    for (std::int64_t row = 0; row < reader.samples(); ++row) {
      reader.sample(row, ids, labels, starts);
      for (std::size_t i = 0; i + 1 < size; ++i) {
        if (starts[i] != 0) {
          all.emplace_back();
          EXPECT_EQ(labels[i], ignored_label);
        }
        all.back().push_back(labels[i] >= 0 ? ids[i] : -ids[i] - 1);
      }
      EXPECT_EQ(starts.back(), 1);
    }
    // Without what fills rows up: no token of it trains.
    std::erase_if(all, [](const auto& sample) {
      return std::ranges::none_of(sample, [](std::int32_t id) { return id >= 0; });
    });
    std::ranges::sort(all);
    return std::pair{reader.samples(), all};
  };
  const auto [single_rows, single_samples] = samples(single);
  const auto [packed_rows, packed_samples] = samples(packed);
  EXPECT_EQ(single_rows, 20);
  EXPECT_LT(packed_rows, 10);
  EXPECT_EQ(single_samples.size(), 20U);
  EXPECT_EQ(packed_samples, single_samples);
}

TEST_F(PrepareTest, SamplesDoNotDependOnThreads) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += line(std::to_string(i), std::to_string(i * i));
  const std::string file = directory_.file("a.jsonl", text);
  const ChatContext context = chat_context(files_, conversation_, length);
  const SampleFile one(context, file, directory_.path("one"), 1),
      four(context, file, directory_.path("four"), 4);
  ASSERT_EQ(one.lengths(), four.lengths());
  ASSERT_EQ(one.size(), 3000U);
  std::vector<std::int32_t> a(length), b(length), labels(length);
  for (std::size_t i = 0; i < one.size(); i += 100) {
    one.read(i, a, labels);
    four.read(i, b, labels);
    EXPECT_EQ(a, b);
  }
  EXPECT_EQ(one.counts().tokens, four.counts().tokens);
}

TEST_F(PrepareTest, RefusesWithLineAndCause) {
  const auto refused = [&](const std::string& text) {
    return error_of([&] { prepared(directory_.file("a.jsonl", text)); });
  };
  EXPECT_THAT(refused(line("a", "x") + "{\n"), HasSubstr("a.jsonl:2 is not JSON"));
  EXPECT_THAT(refused(line("a", "x") + "\n{\"a\": 1}\n"),
              HasSubstr("a.jsonl:3: the line has no field \"messages\""));
  EXPECT_THAT(refused(R"({"messages": [{"role": "user", "content": "a"}]})"),
              HasSubstr("has no sample that trains"));
  EXPECT_THAT(refused(""), HasSubstr("has no sample that trains"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path("data"))) << "nothing is left";
}

TEST_F(PrepareTest, CountsAreOneLine) {
  const ChatCounts counts{
      .samples = 2, .tokens = 30, .trained = 10, .without_answer = 3, .cut = 1, .cut_answers = 2};
  EXPECT_EQ(counts_text(counts, 2, 20),
            "2 samples, 30 tokens, 10 of them (33.3%) train; rows of 20 tokens are 75.0% full; 3 "
            "samples without a token "
            "that trains are left out; 1 samples are longer and cut, with 2 answers");
  EXPECT_THAT(counts_text(counts, 1, 40), HasSubstr("packed, 1 rows of 40 tokens are 75.0% full"));
}

}  // namespace
}  // namespace triax::test
