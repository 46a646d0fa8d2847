// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/prepare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "io/tokens/token_reader.hpp"
#include "src/data/chat/encode_lines.hpp"
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
  SampleFile one(directory_.path("one")), four(directory_.path("four"));
  encode_lines(context, std::vector{file}, all_lines, 1, {one});
  encode_lines(context, std::vector{file}, all_lines, 4, {four});
  one.close();
  four.close();
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

// The split of a job, and the same one made by hand.
class SplitTest : public PrepareTest {
 protected:
  SplitTest() {
    conversation_.validation_fraction = fraction;
    for (int i = 0; i < 40; ++i)
      lines_.push_back(line(std::to_string(i), std::string(static_cast<std::size_t>(i % 5), 'x')));
  }
  static constexpr double fraction = 0.3;

  // Lines [begin, end) on one side.
  std::string side(bool valid, std::size_t begin, std::size_t end) const {
    std::string text;
    for (std::size_t i = begin; i < end; ++i) {
      const std::string_view one(lines_[i].data(), lines_[i].size() - 1);
      if (is_validation_line(one, fraction) == valid) text += lines_[i];
    }
    return text;
  }
  std::string all(std::size_t begin, std::size_t end) const {
    return std::accumulate(lines_.begin() + static_cast<std::ptrdiff_t>(begin),
                           lines_.begin() + static_cast<std::ptrdiff_t>(end), std::string());
  }
  DataConfig split(DataConfig data) const {
    prepare_conversations(MPI_COMM_NULL, files_, conversation_, directory_.path("data"), 2, data);
    return data;
  }
  DataConfig unsplit(const std::string& train, const std::string& valid) {
    DataConfig data = data_;
    data.train = {directory_.file("train.jsonl", train)};
    data.valid = {directory_.file("valid.jsonl", valid)};
    const ConversationConfig before = conversation_;
    conversation_.validation_fraction = 0.0;
    conversation_.train_rows = conversation_.valid_rows = {};
    data = split(data);
    conversation_ = before;
    return data;
  }
  static std::vector<std::int32_t> rows(const std::vector<std::string>& files) {
    const TokenReader reader(files, length, false, 1);
    std::vector<std::int32_t> all, ids(length + 1), labels(length + 1);
    for (std::int64_t i = 0; i < reader.samples(); ++i) {
      reader.sample(i, ids, labels);
      all.insert(all.end(), ids.begin(), ids.end());
      all.insert(all.end(), labels.begin(), labels.end());
    }
    return all;
  }
  std::vector<std::string> lines_;
};

TEST_F(SplitTest, EqualsASplitByHand) {
  for (const bool packing : {false, true}) {
    data_.packing = data_.mask_documents = packing;
    DataConfig data = data_;
    data.train = {directory_.file("a.jsonl", all(0, 40))};
    data = split(data);
    const DataConfig hand = unsplit(side(false, 0, 40), side(true, 0, 40));
    EXPECT_FALSE(rows(data.valid).empty());
    EXPECT_EQ(rows(data.train), rows(hand.train));
    EXPECT_EQ(rows(data.valid), rows(hand.valid));
  }
}

// A line's side is the same in any file: files of a source become one.
TEST_F(SplitTest, FilesOfASourceBecomeOne) {
  DataConfig data = data_;
  data.train = {directory_.file("a.jsonl", all(0, 15)), directory_.file("b.jsonl", all(15, 20)),
                directory_.file("c.jsonl", all(20, 40))};
  const DataConfig one = split(data);
  ASSERT_EQ(one.train.size(), 1U);
  const DataConfig hand = unsplit(side(false, 0, 40), side(true, 0, 40));
  EXPECT_EQ(rows(one.train), rows(hand.train));
  EXPECT_EQ(rows(one.valid), rows(hand.valid));
  data.sources = {{2, {{0.5, 0}}}, {1, {{0.5, 0}}}};
  const DataConfig two = split(data);
  ASSERT_EQ(two.train.size(), 2U);
  EXPECT_EQ(two.sources, (std::vector<DataSource>{{1, {{0.5, 0}}}, {1, {{0.5, 0}}}}));
  const DataConfig first = unsplit(side(false, 0, 20), side(true, 0, 40));
  const DataConfig second = unsplit(side(false, 20, 40), side(true, 0, 40));
  EXPECT_EQ(rows({two.train[0]}), rows(first.train));
  EXPECT_EQ(rows({two.train[1]}), rows(second.train));
  EXPECT_EQ(rows(two.valid), rows(one.valid));
}

TEST_F(SplitTest, IsFoundAgain) {
  DataConfig data = data_;
  data.train = {directory_.file("a.jsonl", all(0, 40))};
  const DataConfig first = split(data);
  const auto time = std::filesystem::last_write_time(first.valid[0]);
  const DataConfig again = split(data);
  EXPECT_EQ(again.train, first.train);
  EXPECT_EQ(again.valid, first.valid);
  EXPECT_EQ(std::filesystem::last_write_time(again.valid[0]), time);
  const std::vector<std::int32_t> before = rows(first.valid);
  std::filesystem::remove(first.valid[0]);
  EXPECT_EQ(rows(split(data).valid), before) << "made again";
  conversation_.validation_fraction = 0.5;
  const DataConfig other = split(data);
  EXPECT_NE(other.train, first.train);
  EXPECT_NE(other.valid, first.valid);
}

// Lines of all files, read as one; the split comes after the slice.
TEST_F(SplitTest, TakesRowsOfTheFiles) {
  DataConfig data = data_;
  data.train = {directory_.file("a.jsonl", all(0, 15)), directory_.file("b.jsonl", all(15, 40))};
  data.valid = data.train;
  conversation_.validation_fraction = 0.0;
  conversation_.train_rows = {10, 30};
  conversation_.valid_rows = {-10, {}, true};
  const DataConfig rows_only = split(data);
  ASSERT_EQ(rows_only.train.size(), 1U);
  DataConfig hand = unsplit(all(10, 30), all(36, 40));
  EXPECT_EQ(rows(rows_only.train), rows(hand.train));
  EXPECT_EQ(rows(rows_only.valid), rows(hand.valid));
  data.valid.clear();
  conversation_.valid_rows = {};
  conversation_.validation_fraction = fraction;
  const DataConfig both = split(data);
  hand = unsplit(side(false, 10, 30), side(true, 10, 30));
  EXPECT_EQ(rows(both.train), rows(hand.train));
  EXPECT_EQ(rows(both.valid), rows(hand.valid));
}

TEST_F(SplitTest, ASideWithoutSamplesIsRefused) {
  DataConfig data = data_;
  data.train = {directory_.file("a.jsonl", all(0, 3))};
  conversation_.validation_fraction = 1e-6;
  EXPECT_THAT(error_of([&] { split(data); }),
              testing::AllOf(HasSubstr("a.jsonl, for validation: there is no sample"),
                             HasSubstr("data.validation_fraction is 1e-06"),
                             HasSubstr("Set another fraction, or name validation files")));
  conversation_.validation_fraction = 1.0 - 1e-6;
  EXPECT_THAT(error_of([&] { split(data); }),
              HasSubstr("a.jsonl, for training: there is no sample"));
  const DataConfig hand = unsplit(all(0, 40), all(0, 40));
  EXPECT_THAT(error_of([&] { split(hand); }),
              HasSubstr("data.validation_fraction takes lines of a file, and " + hand.train[0]));
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
  EXPECT_THAT(refused(""), HasSubstr("has no lines"));
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
