// SPDX-License-Identifier: Apache-2.0
// Documents of token files, as samples see them.
#include <algorithm>

#include "io/tokens/token_reader.hpp"
#include "tests/io/token_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Marks of first tokens as digits.
std::string starts_of(const TokenReader& reader, std::int64_t index, int length) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(length) + 1);
  std::vector<std::uint8_t> starts(tokens.size(), 7);
  reader.sample(index, tokens, {}, starts);
  std::string digits;
  for (const std::uint8_t start : starts) digits += static_cast<char>('0' + start);
  return digits;
}

TEST(TokenDocuments, KnowsTheDocumentsOfEveryFormat) {
  const TempDirectory dir;
  dir.file("m.bin", bytes_of(std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  dir.file("m.idx", megatron_index(1, {3, 0, 2, 3}, {0, 3, 3, 5}, {0, 2, 3, 4}));
  dir.file("s.bin", bytes_of(std::vector<std::uint8_t>{6, 7, 8, 1, 2, 3, 4, 5}));
  dir.file("s.idx", megatron_index(1, {3, 0, 2, 3}, {3, 0, 6, 0}, {0, 2, 3, 4}));
  const std::vector<std::pair<std::string, std::string>> files = {
      {dir.path("m"), "10010100"},
      {dir.path("s"), "10010100"},
      {labelled_file(dir.path("h.h5"), {1, 2, 3, 4, 5, 6, 7, 8}, {}, {0, 2, 2, 7, 8}), "10100001"},
      {dir.file("j.jsonl", "{\"text\":\"abc\"}\n{\"text\":\"\"}\n{\"text\":\"de\"}\n"), "1000110"},
      {dir.file("l.bin", llmc_shard({1, 9, 2, 3, 9, 9, 4})), "1010011"}};
  std::vector<std::string> paths;
  std::string all;
  for (const auto& [path, starts] : files) {
    const auto tokens = static_cast<int>(starts.size());
    TokenReader reader({path}, tokens - 1, false, 0);
    reader.find_documents(9, false);
    EXPECT_EQ(starts_of(reader, 0, tokens - 1), starts) << path;
    EXPECT_FALSE(reader.has_labels());
    EXPECT_NO_THROW(reader.check_ends());
    paths.push_back(path);
    all += starts;
  }
  for (int length = 1; length < 12; ++length) {
    TokenReader reader(paths, length, false, 0);
    reader.find_documents(9, false);
    for (std::int64_t i = 0; i < reader.samples(); ++i) {
      std::string expected =
          all.substr(static_cast<std::size_t>(i * length), static_cast<std::size_t>(length) + 1);
      expected.front() = '1';
      EXPECT_EQ(starts_of(reader, i, length), expected) << length;
    }
  }
}

TEST(TokenDocuments, KnowsManyDocumentsOfHdf5) {  // in several blocks of the dataset
  const TempDirectory dir;
  std::vector<std::int32_t> tokens(30000, 1);
  std::vector<std::int64_t> documents;
  for (std::int64_t at = 0; at < 30000; at += 1 + at % 3) documents.push_back(at);
  documents.push_back(30000);
  ASSERT_GT(documents.size(), 2 * 4096U);
  TokenReader reader({labelled_file(dir.path("many.h5"), tokens, {}, documents)}, 50, true, 3);
  reader.find_documents(-1, false);
  TokenReader plain({dir.path("many.h5")}, 29999, false, 3);
  plain.find_documents(-1, false);
  std::string all(30000, '0');
  for (const std::int64_t at : documents)
    if (at < 30000) all[static_cast<std::size_t>(at)] = '1';
  EXPECT_EQ(starts_of(plain, 0, 29999), all);
  std::vector<std::string> found, expected;
  for (std::int64_t i = 0; i < reader.samples(); ++i) {
    found.push_back(starts_of(reader, i, 50));
    expected.push_back(all.substr(static_cast<std::size_t>(i * 50), 51));
    expected.back().front() = '1';
  }
  std::ranges::sort(found);
  std::ranges::sort(expected);
  EXPECT_EQ(found, expected);
}

TEST(TokenDocuments, IgnoresTheLabelsOfFirstTokens) {
  const TempDirectory dir;
  const std::vector<std::string> paths = {
      dir.file("a.bin", llmc_shard({1, 9, 2, 3})),
      labelled_file(dir.path("b.h5"), {4, 5, 6, 7}, {4, -100, 6, 7}, {0, 2, 4})};
  TokenReader reader(paths, 7, false, 0);
  reader.find_documents(9, true);
  EXPECT_TRUE(reader.has_labels());
  std::vector<std::int32_t> tokens(8), labels(8);
  reader.sample(0, tokens, labels);
  EXPECT_THAT(tokens, ElementsAre(1, 9, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(labels, ElementsAre(-100, 9, -100, 3, -100, -100, -100, 7));
}

TEST(TokenDocuments, RefusesDocumentsThatNothingTells) {
  const TempDirectory dir;
  const auto refused = [&](const std::string& path, std::int64_t end_token) {
    TokenReader reader({path}, 3, false, 0);
    return error_of([&] {
      reader.find_documents(end_token, false);
      reader.check_ends();
    });
  };
  const std::string shard = dir.file("a.bin", llmc_shard({1, 2, 3, 4}));
  EXPECT_THAT(refused(shard, -1), AllOf(HasSubstr(shard + " does not tell its documents apart"),
                                        HasSubstr("no end token"), HasSubstr("data.documents")));
  EXPECT_EQ(refused(shard, 2), "");
  EXPECT_THAT(refused(dir.file("t.txt", "some text"), 10), HasSubstr("it is text"));
  for (const std::vector<std::int64_t>& wrong :
       {std::vector<std::int64_t>{1, 4}, {0, 3}, {0, 3, 2, 4}, {0, 9, 4}, {7}})
    EXPECT_THAT(refused(labelled_file(dir.path("h.h5"), {1, 2, 3, 4}, {}, wrong), 2),
                HasSubstr("h.h5 has documents that do not fit its tokens"));
}

}  // namespace
}  // namespace triax
