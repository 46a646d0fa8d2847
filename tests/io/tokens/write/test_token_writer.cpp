// SPDX-License-Identifier: Apache-2.0
// Each format, written in extents and read by io/tokens: tokens, documents, facts. Also
// document_lengths, and io/hdf5/chunks, which HDF5's own reader reads here.
#include "io/tokens/write/token_writer.hpp"

#include <numeric>

#include "io/hdf5/hdf5.hpp"
#include "io/tokens/document_walk.hpp"
#include "io/tokens/write/document_lengths.hpp"
#include "tests/io/token_fixtures.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

struct Written {
  TokenFormat format;
  std::int64_t vocabulary;
};

class TokenWriters : public testing::TestWithParam<Written> {
 protected:
  // Documents of 1, 2, 3, ... tokens; token i is a number below the vocabulary.
  void write(std::int64_t documents, std::int64_t shard_tokens = 2'000'000) {
    std::filesystem::remove(first());
    std::filesystem::create_directories(dir_.path("work"));
    LengthsWriter lengths(dir_.path("work/lengths"));
    for (std::int64_t d = 1; d <= documents; ++d) lengths.add(d);
    lengths.close();
    tokens_.resize(static_cast<std::size_t>(documents * (documents + 1) / 2));
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      tokens_[i] =
          static_cast<std::int32_t>(i * 7919 % static_cast<std::size_t>(GetParam().vocabulary));
    const TokenOutput output{.prefix = dir_.path("o"),
                             .directory = dir_.path("work"),
                             .tokens = std::ssize(tokens_),
                             .documents = documents,
                             .vocabulary = GetParam().vocabulary,
                             .shard_tokens = shard_tokens};
    const auto writer = make_token_writer(GetParam().format, output);
    writer->begin();
    for (std::int64_t e = output.extents() - 1; e >= 0; --e) writer->write(e, extent(e));
    facts_ = {.tokenizer = "abc",
              .vocabulary = GetParam().vocabulary,
              .end_token = 5,
              .documents = documents,
              .tokens = output.tokens,
              .checksum = 0x123,
              .job = "job",
              .version = "1"};
    writer->finish(dir_.path("work/lengths"), facts_);
    EXPECT_FALSE(std::filesystem::exists(first()));
    publish(*writer);
    publish(*writer);  // an attempt that was killed is repeated
  }
  std::string first() const { return first_file(GetParam().format, dir_.path("o")); }
  std::vector<std::byte> extent(std::int64_t e) const {
    const auto begin = tokens_.begin() + e * extent_tokens;
    const auto end = tokens_.begin() + std::min((e + 1) * extent_tokens, std::ssize(tokens_));
    std::string bytes;
    if (token_bytes(GetParam().format, GetParam().vocabulary) == 2)
      bytes = bytes_of(std::vector<std::uint16_t>(begin, end));
    else
      bytes = bytes_of(std::vector<std::int32_t>(begin, end));
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    return {data, data + bytes.size()};
  }

  TempDirectory dir_;
  std::vector<std::int32_t> tokens_;
  TokenFacts facts_;
};

TEST_P(TokenWriters, AreReadBack) {
  for (const std::int64_t documents : {1, 30, 1500}) {  // the last have two extents
    write(documents);
    const auto file = open_tokens(first());
    EXPECT_EQ(file->format(), name_of(GetParam().format));
    ASSERT_EQ(all_tokens(*file), tokens_) << documents;
    const auto facts = token_facts(first());
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts_json(*facts), facts_json(facts_));
    if (GetParam().format == TokenFormat::llmc) continue;
    const auto walk = walk_documents(first(), *file, -1);
    for (std::int64_t d = 1; d <= documents; ++d) ASSERT_EQ(walk->next(), d);
    EXPECT_FALSE(walk->next());
  }
}

TEST_P(TokenWriters, EqualTokensMakeEqualBytes) {
  write(200);
  const std::string before = contents(first());
  write(200);
  EXPECT_TRUE(contents(first()) == before);
}

TEST_P(TokenWriters, NamesOfTheFormats) {
  EXPECT_EQ(token_format(name_of(GetParam().format)), GetParam().format);
  EXPECT_FALSE(token_format("text"));
}

INSTANTIATE_TEST_SUITE_P(
    Formats, TokenWriters,
    testing::Values(Written{TokenFormat::hdf5, 50257}, Written{TokenFormat::hdf5, 128256},
                    Written{TokenFormat::megatron, 50257}, Written{TokenFormat::megatron, 65536},
                    Written{TokenFormat::llmc, 50257}, Written{TokenFormat::llmc, 128256}),
    [](const auto& info) {
      return std::string(name_of(info.param.format)) + std::to_string(info.param.vocabulary);
    });

TEST(TokenWriter, ShardsOfLlmcBeginAnewWhereTheyAreFull) {
  const TempDirectory dir;
  std::filesystem::create_directories(dir.path("work"));
  const TokenOutput output{.prefix = dir.path("o"),
                           .directory = dir.path("work"),
                           .tokens = 25,
                           .documents = 1,
                           .vocabulary = 100,
                           .shard_tokens = 10};
  const auto writer = make_token_writer(TokenFormat::llmc, output);
  writer->begin();
  std::vector<std::uint16_t> tokens(25);
  std::iota(tokens.begin(), tokens.end(), std::uint16_t{0});
  writer->write(0, std::as_bytes(std::span(tokens)));
  writer->finish("", {});
  publish(*writer);
  EXPECT_EQ(contents(dir.path("o_000000.bin")), llmc_shard({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(contents(dir.path("o_000002.bin")), llmc_shard({20, 21, 22, 23, 24}));
  EXPECT_EQ(facts_path(dir.path("o_000002.bin")), dir.path("o.json"));
}

// The bytes of the definition: tests/io/token_fixtures.hpp.
TEST(TokenWriter, MegatronIndexIsThatOfItsDefinition) {
  const TempDirectory dir;
  std::filesystem::create_directories(dir.path("work"));
  LengthsWriter lengths(dir.path("work/lengths"));
  lengths.add(2);
  lengths.add(3);
  lengths.close();
  const TokenOutput output{.prefix = dir.path("o"),
                           .directory = dir.path("work"),
                           .tokens = 5,
                           .documents = 2,
                           .vocabulary = 100};
  const auto writer = make_token_writer(TokenFormat::megatron, output);
  writer->begin();
  const std::vector<std::uint16_t> tokens = {1, 2, 3, 4, 5};
  writer->write(0, std::as_bytes(std::span(tokens)));
  writer->finish(dir.path("work/lengths"), {});
  publish(*writer);
  EXPECT_EQ(contents(dir.path("o.idx")), megatron_index(8, {2, 3}, {0, 4}, {0, 1, 2}));
  EXPECT_EQ(contents(dir.path("o.bin")), bytes_of(tokens));
}

TEST(DocumentWalk, EndTokensEndDocuments) {
  const TempDirectory dir;
  const std::string path = dir.file("a.bin", llmc_shard({1, 2, 9, 9, 3}));
  const auto file = open_tokens(path);
  const auto walk = walk_documents(path, *file, 9);
  EXPECT_EQ(walk->next(), 3);
  EXPECT_EQ(walk->next(), 1);
  EXPECT_EQ(walk->next(), 1);
  EXPECT_FALSE(walk->next());
  EXPECT_EQ(walk_documents(path, *file, -1), nullptr);
}

TEST(TokenFacts, ChecksumsOfRangesAddUp) {
  const std::vector<std::uint16_t> tokens = {1, 2, 3, 4, 5};
  const auto* data = std::as_bytes(std::span(tokens)).data();
  const auto whole = token_checksum(0, data, 5, 2);
  EXPECT_EQ(token_checksum(0, data, 2, 2) + token_checksum(2, data + 4, 3, 2), whole);
  EXPECT_NE(token_checksum(1, data, 5, 2), whole);
}

TEST(TokenFacts, AForeignJsonFileIsNamed) {
  const TempDirectory dir;
  dir.file("a.json", "{\"x\": 1}");
  EXPECT_THAT(error_of([&] { token_facts(dir.file("a.bin", llmc_shard({1}))); }),
              HasSubstr("a.json does not hold the facts"));
}

TEST(OutputFile, AppendsAndWritesInRanges) {
  const TempDirectory dir;
  const std::string large(3 << 20, 'x');
  {
    OutputFile file(dir.path("a"));
    file.append_values(std::span<const char>(std::string("head")));
    file.append_values(std::span<const char>(large));
    EXPECT_EQ(file.bytes(), 4 + (3 << 20));
    file.close();
  }
  OutputFile(dir.path("a"), OutputFile::Opens::existing)
      .write_at(1, std::as_bytes(std::span<const char>("EA", 2)));
  EXPECT_TRUE(contents(dir.path("a")) == "hEAd" + large);
  EXPECT_THAT(error_of([&] { OutputFile(dir.path("none/a")); }), HasSubstr("No such file"));
}

}  // namespace
}  // namespace triax::test
