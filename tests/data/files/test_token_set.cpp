// SPDX-License-Identifier: Apache-2.0
// Token files after they are made: token_set, inspect, decode, merge.
#include "src/data/files/token_set.hpp"

#include <nlohmann/json.hpp>

#include "src/data/files/decode.hpp"
#include "src/data/files/inspect.hpp"
#include "src/data/files/merge.hpp"
#include "tests/data/tokenize_job.hpp"
#include "tests/io/token_fixtures.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TokenFiles : public testing::TestWithParam<TokenFormat> {
 protected:
  // Makes a token file of a corpus and returns its name.
  std::string made(const std::string& prefix, int documents) const {
    auto options =
        job_of({dir_.file(prefix + ".jsonl", corpus(documents, documents))}, dir_.path(prefix));
    options.format = GetParam();
    options.shard_tokens = 100;
    tokenize(options, MPI_COMM_NULL);
    return first_file(GetParam(), dir_.path(prefix));
  }
  TempDirectory dir_;
};

TEST_P(TokenFiles, AreVerifiedAndInspected) {
  const std::string path = made("a", 30);
  const TokenSet set(path);
  EXPECT_EQ(set.size(), 10 * 7 + 20 * 8);
  EXPECT_THAT(problems_of(set), IsEmpty());
  const TokenStatistics statistics = statistics_of(set);
  EXPECT_EQ(statistics.documents, 30);
  EXPECT_EQ(statistics.shortest, 7);
  EXPECT_EQ(statistics.longest, 8);
  EXPECT_THAT(statistics.histogram, ElementsAre(0, 0, 10, 20));
  EXPECT_EQ(statistics.distinct, 15);  // "tex ", the digits, the end token
  EXPECT_EQ(statistics.largest_id, 'x');
  EXPECT_THAT(inspect_text(set, statistics, false),
              AllOf(HasSubstr("230 tokens, 30 documents"), HasSubstr("end token 7")));
  const auto out = nlohmann::json::parse(inspect_text(set, statistics, true));
  EXPECT_EQ(out.at("facts").at("tokenizer"), byte_tokenizer()->fingerprint());
}

TEST_P(TokenFiles, DamageIsFound) {
  const std::string path = made("a", 30);
  std::string bytes = contents(path);
  // In HDF5 files the low bytes of the tokens are stored as they are.
  const std::string text = GetParam() == TokenFormat::hdf5 ? "text 3" : std::string("t\0e\0x", 5);
  const std::size_t at = bytes.find(text);
  ASSERT_NE(at, bytes.npos);
  bytes[at] = 'z';
  std::ofstream(path, std::ios::binary) << bytes;
  if (GetParam() == TokenFormat::hdf5)
    EXPECT_THAT(error_of([&] { problems_of(TokenSet(path)); }), HasSubstr(path));
  else
    EXPECT_THAT(problems_of(TokenSet(path)),
                testing::Contains(HasSubstr("do not match their checksum")));
}

TEST_P(TokenFiles, AreDecoded) {
  const TokenSet set(made("a", 5));
  std::vector<std::string> texts;
  decode_documents(set, *byte_tokenizer(), {.first = 3, .documents = 9},
                   [&](std::int64_t, const std::string& text, bool) { texts.push_back(text); });
  EXPECT_THAT(texts, ElementsAre("text 3", "text 4"));
  EXPECT_THAT(error_of([&] {
                decode_documents(set, *byte_tokenizer(), {.first = 5},
                                 [](auto, const auto&, bool) {});
              }),
              HasSubstr("has no document 5"));
}

TEST_P(TokenFiles, AreMergedIntoEveryFormat) {
  const std::string a = made("a", 12), b = made("b", 3);
  for (const TokenFormat to : {TokenFormat::hdf5, TokenFormat::megatron, TokenFormat::llmc}) {
    const std::string out = dir_.path("m" + std::string(name_of(to)));
    const TokenFacts facts = merge_token_files({.files = {a, b}, .out = out, .format = to});
    EXPECT_EQ(facts.documents, 15);
    EXPECT_EQ(facts.tokenizer, byte_tokenizer()->fingerprint());
    const std::string path = first_file(to, out);
    EXPECT_THAT(problems_of(TokenSet(path)), IsEmpty());
    EXPECT_EQ(texts_of(path)[13], "text 1");
    EXPECT_THAT(error_of([&] {
                  merge_token_files({.files = {a, b}, .out = out, .format = to});
                }),
                HasSubstr("is there already"));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, TokenFiles,
                         testing::Values(TokenFormat::hdf5, TokenFormat::megatron,
                                         TokenFormat::llmc),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(TokenSet, FilesOfAnotherTokenizerAreRefused) {
  const TempDirectory dir;
  tokenize(job_of({dir.file("a.jsonl", corpus(3, 3))}, dir.path("a")), MPI_COMM_NULL);
  const std::string foreign = dir.file("b.bin", llmc_shard({1, 2, 3}));
  EXPECT_FALSE(TokenSet(foreign).facts());
  EXPECT_THAT(error_of([&] {
                merge_token_files({.files = {dir.path("a.h5"), foreign}, .out = dir.path("m")});
              }),
              AllOf(HasSubstr("were not made by one tokenizer"), HasSubstr("unknown")));
  std::filesystem::rename(dir.path("a.h5"), dir.path("c.h5"));
  auto options = job_of({dir.path("a.jsonl")}, dir.path("a"));
  options.format = TokenFormat::megatron;
  tokenize(options, MPI_COMM_NULL);
  std::string facts = contents(dir.path("a.json"));
  facts.replace(facts.find(byte_tokenizer()->fingerprint()), 4, "0000");
  std::ofstream(dir.path("a.json")) << facts;
  EXPECT_THAT(
      error_of([&] { require_same_tokenizer(TokenSet(dir.path("a.bin")), *byte_tokenizer()); }),
      HasSubstr("was made by another tokenizer"));
  require_same_tokenizer(TokenSet(dir.path("c.h5")), *byte_tokenizer());
}

TEST(TokenSet, TextIsRefused) {
  const TempDirectory dir;
  EXPECT_THAT(error_of([&] { TokenSet(dir.file("a.txt", "words")); }),
              HasSubstr("is text, not tokens"));
}

}  // namespace
}  // namespace triax::test
