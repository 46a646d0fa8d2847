// SPDX-License-Identifier: Apache-2.0
#include "io/tokens/token_reader.hpp"

#include <algorithm>
#include <thread>

#include "io/hdf5/hdf5.hpp"
#include "tests/io/token_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int32_t> sample(const TokenReader& reader, std::int64_t index, int length) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(length) + 1);
  reader.sample(index, out);
  reader.check_lengths();
  return out;
}

// Tokens 0 to 99 in four files: text (20), llm.c shard (30), Megatron pair (10), HDF5 (40).
std::vector<std::string> hundred(const TempDirectory& dir) {
  std::vector<std::int32_t> all(100);
  std::iota(all.begin(), all.end(), 0);
  std::string text;
  for (int i = 0; i < 20; ++i) text += static_cast<char>(i + 1);
  dir.file("a.txt", text);  // tokens 1 to 20, as text has no zero byte
  dir.file("b.bin", llmc_shard({all.begin() + 20, all.begin() + 50}));
  dir.file("c.bin", bytes_of(std::vector<std::uint8_t>(all.begin() + 50, all.begin() + 60)));
  dir.file("c.idx", megatron_index(1, {4, 6}, {0, 4}, {0, 2}));
  hdf5::File file(dir.path("d.h5"), hdf5::File::Mode::create);
  file.create_dataset("/tokens", DType::i32, {40});
  file.write("/tokens", {{{}, {40}}}, Tensor(all.data() + 60, {40}));
  return {dir.path("a.txt"), dir.path("b.bin"), dir.path("c"), dir.path("d.h5")};
}

TEST(TokenReader, SamplesCrossFilesInOrder) {
  const TempDirectory dir;
  const TokenReader reader(hundred(dir), 9, false, 0);
  ASSERT_EQ(reader.tokens(), 100);
  ASSERT_EQ(reader.samples(), 11);
  for (std::int64_t index = 0; index < 33; ++index) {
    const auto got = sample(reader, index, 9);
    for (int k = 0; k < 10; ++k) {
      const auto position = static_cast<int>(index % 11 * 9 + k);
      ASSERT_EQ(got[static_cast<std::size_t>(k)], position < 20 ? position + 1 : position) << index;
    }
  }
}

// Tokens of a file without labels are their own labels.
TEST(TokenReader, LabelsCrossFilesThatHaveThemOrNot) {
  const TempDirectory dir;
  const std::vector<std::string> paths = {
      dir.file("1", "a"), labelled_file(dir.path("2.h5"), {7, 8}, {-100, 5}), dir.file("3", "b")};
  const TokenReader reader(paths, 3, false, 0);
  EXPECT_TRUE(reader.has_labels());
  std::vector<std::int32_t> tokens(4), labels(4);
  reader.sample(0, tokens, labels);
  EXPECT_THAT(tokens, ElementsAre('a', 7, 8, 'b'));
  EXPECT_THAT(labels, ElementsAre('a', -100, 5, 'b'));
  EXPECT_FALSE(TokenReader({paths.front(), paths.back()}, 1, false, 0).has_labels());
}

TEST(TokenReader, NamesALabelThatIsNone) {
  const TempDirectory dir;
  for (const std::int32_t wrong : {-1, -99, 9}) {
    const std::string path = dir.path(fmt::format("{}.h5", wrong));
    TokenReader reader({labelled_file(path, {1, 2, 3, 4}, {-100, 8, wrong, 0})}, 3, false, 0);
    reader.set_vocabulary(9);
    std::vector<std::int32_t> tokens(4), labels(4);
    const auto wanted = AllOf(HasSubstr(path + " has a wrong label"),
                              HasSubstr(fmt::format("label 2 of the file is {}", wrong)));
    EXPECT_THAT(error_of([&] { reader.sample(0, tokens, labels); }), wanted);
    EXPECT_THAT(error_of([&] { reader.check_ends(); }), wanted);
  }
}

TEST(TokenReader, ASampleMaySpanSeveralFiles) {
  const TempDirectory dir;
  const std::vector<std::string> paths = {dir.file("1", "a"), dir.file("2", "b"),
                                          dir.file("3", "cd")};
  const TokenReader reader(paths, 3, false, 0);
  EXPECT_EQ(reader.samples(), 1);
  EXPECT_THAT(sample(reader, 0, 3), ElementsAre('a', 'b', 'c', 'd'));
}

TEST(TokenReader, AFileThatWasMadeShorterIsAnErrorThatNamesIt) {
  // Less than a page is cut off: the mapping reads zeros there.
  for (const std::string name : {"a.txt", "b.bin", "c.bin", "c.idx", "d.h5"}) {
    const TempDirectory dir;
    const TokenReader reader(hundred(dir), 9, false, 0);
    const auto read_all = [&] {
      for (std::int64_t index = 0; index < reader.samples(); ++index) sample(reader, index, 9);
    };
    EXPECT_NO_THROW(read_all());
    const auto bytes = std::filesystem::file_size(dir.path(name));
    std::filesystem::resize_file(dir.path(name), bytes - 3);
    EXPECT_THAT(error_of(read_all), HasSubstr("cannot read " + dir.path(name))) << name;
    EXPECT_THAT(error_of(read_all),
                HasSubstr(fmt::format("{} bytes, {} when it was opened", bytes - 3, bytes)));
  }
}

TEST(TokenReader, AFileThatAnotherTookThePlaceOfStaysAsItWas) {
  const TempDirectory dir;
  const TokenReader reader({dir.file("1", "abcd")}, 3, false, 0);
  std::filesystem::rename(dir.file("2", "x"), dir.path("1"));
  EXPECT_THAT(sample(reader, 0, 3), ElementsAre('a', 'b', 'c', 'd'));
  std::filesystem::remove(dir.path("1"));
  EXPECT_THAT(sample(reader, 0, 3), ElementsAre('a', 'b', 'c', 'd'));
}

TEST(TokenReader, ShufflesEachEpochByTheSeed) {
  const TempDirectory dir;
  const auto paths = hundred(dir);
  const TokenReader plain(paths, 3, false, 0);
  const TokenReader shuffled(paths, 3, true, 42);
  const TokenReader again(paths, 3, true, 42);
  const TokenReader other(paths, 3, true, 43);
  const std::int64_t n = plain.samples();
  const auto epoch = [&](const TokenReader& reader, std::int64_t number) {
    std::vector<std::vector<std::int32_t>> out;
    for (std::int64_t i = 0; i < n; ++i) out.push_back(sample(reader, number * n + i, 3));
    return out;
  };
  EXPECT_EQ(epoch(shuffled, 0), epoch(again, 0));
  EXPECT_EQ(epoch(shuffled, 5), epoch(again, 5));
  EXPECT_NE(epoch(shuffled, 0), epoch(shuffled, 1));
  EXPECT_NE(epoch(shuffled, 0), epoch(other, 0));
  EXPECT_NE(epoch(shuffled, 0), epoch(plain, 0));
  for (const std::int64_t index : {0L, n - 1, n, 3 * n + 2})
    EXPECT_EQ(sample(plain, shuffled.position(index).number, 3), sample(shuffled, index, 3));
  auto sorted = epoch(shuffled, 1);
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, epoch(plain, 0));  // every sample once: the plain order is sorted
}

TEST(TokenReader, TooLittleDataIsSaidWithNumbers) {
  const TempDirectory dir;
  const std::string path = dir.file("a.txt", "12345678");
  EXPECT_EQ(TokenReader({path}, 7, false, 0).samples(), 1);
  EXPECT_THAT(error_of([&] { TokenReader({path}, 8, false, 0); }),
              AllOf(HasSubstr("8 tokens"), HasSubstr("needs 9")));
  EXPECT_THAT(error_of([&] { TokenReader({}, 8, false, 0); }), HasSubstr("no data files"));
}

TEST(TokenReader, NamesFileAndPositionOfATokenBeyondTheVocabulary) {
  const TempDirectory dir;
  const std::vector<std::string> paths = {dir.file("a.bin", llmc_shard({1, 2, 3})),
                                          dir.file("b.bin", llmc_shard({4, 5, 100, 6}))};
  TokenReader reader(paths, 3, false, 0);
  EXPECT_THAT(sample(reader, 1, 3), ElementsAre(4, 5, 100, 6));
  reader.set_vocabulary(101);
  EXPECT_THAT(sample(reader, 1, 3), ElementsAre(4, 5, 100, 6));
  reader.set_vocabulary(100);
  EXPECT_THAT(sample(reader, 0, 3), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(
      error_of([&] { sample(reader, 1, 3); }),
      AllOf(HasSubstr("b.bin"), HasSubstr("token 2 of the file is 100"), HasSubstr("has 100")));
}

TEST(TokenReader, TokensAtTheEndsOfEachFileAreChecked) {
  const TempDirectory dir;
  for (const auto& [bad, found] : {std::pair{0, true}, {3, true}, {4, false}, {8, true}}) {
    std::vector<std::uint16_t> tokens(12, 5);
    tokens[static_cast<std::size_t>(bad)] = 100;
    TokenReader reader(
        {dir.file("a.bin", llmc_shard({1, 2})), dir.file("b.bin", llmc_shard(tokens))}, 3, false,
        0);
    reader.set_vocabulary(100);
    const std::string said = error_of([&] { reader.check_ends(); });
    EXPECT_EQ(said.find(fmt::format("token {} of the file is 100", bad)) != said.npos, found)
        << said;
  }
}

TEST(TokenReader, NegativeTokensAreOutsideAnyVocabulary) {
  const TempDirectory dir;
  dir.file("n.bin", bytes_of<std::int32_t>({1, -2, 3}));
  dir.file("n.idx", megatron_index(4, {3}, {0}, {0, 1}));
  TokenReader reader({dir.path("n")}, 2, false, 0);
  reader.set_vocabulary(10);
  EXPECT_THAT(error_of([&] { sample(reader, 0, 2); }), HasSubstr("is -2"));
}

TEST(TokenReader, ReadsFromSeveralThreads) {
  const TempDirectory dir;
  auto paths = hundred(dir);
  paths.push_back(dir.file("e.jsonl", "{\"text\":\"abcdefgh\"}\n{\"text\":\"ijklmnop\"}\n"));
  const TokenReader reader(paths, 4, true, 1);
  std::vector<std::vector<std::int32_t>> expected;
  for (std::int64_t i = 0; i < 100; ++i) expected.push_back(sample(reader, i, 4));
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int& count : wrong)
    threads.emplace_back([&] {
      for (std::int64_t i = 0; i < 100; ++i)
        count += sample(reader, i, 4) != expected[static_cast<std::size_t>(i)] ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

}  // namespace
}  // namespace triax
