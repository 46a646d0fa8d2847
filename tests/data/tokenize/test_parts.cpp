// SPDX-License-Identifier: Apache-2.0
// Parts, fingerprints, hashes and duplicates.
#include "src/data/tokenize/parts.hpp"

#include "src/data/tokenize/duplicates.hpp"
#include "src/data/tokenize/encode_job.hpp"
#include "tests/data/tokenize_job.hpp"

namespace triax::test {
namespace {

TEST(EncodeJob, TheFingerprintKnowsWhatDecidesTheBytes) {
  auto options = job_of({}, "o");
  const std::vector<InputFile> files = {{.path = "a", .bytes = 3}};
  const std::string before = job_fingerprint(options, files);
  options.workers = 9;
  options.out = "p";
  EXPECT_EQ(job_fingerprint(options, files), before);
  EXPECT_NE(job_fingerprint(options, {{.path = "a", .bytes = 4}}), before);
  options.documents.keys = {"title", "text"};
  EXPECT_NE(job_fingerprint(options, files), before);
}

// Known answers of MurmurHash3_x64_128 with seed 0.
TEST(TextHash, KnownAnswers) {
  EXPECT_EQ(text_hash("").low, 0U);
  EXPECT_EQ(text_hash("hello").low, 0xcbd8a7b341bd9b02u);
  EXPECT_EQ(text_hash("hello").high, 0x5b1e906a48ae1d19u);
  EXPECT_EQ(text_hash("The quick brown fox jumps over the lazy dog").low, 0xe34bbc7bbc071b6cu);
  EXPECT_EQ(text_hash("The quick brown fox jumps over the lazy dog").high, 0x7a433ca9c49a9347u);
}

TEST(TextHash, OrderOfPiecesCounts) {
  const TextHash a = text_hash("a"), b = text_hash("b");
  EXPECT_NE(joined(a, b), joined(b, a));
}

TEST(Parts, PiecesAreJoinedAcrossParts) {
  const TempDirectory dir;
  const std::vector<std::int32_t> ids = {1, 2, 3};
  PartWriter first(dir.path(), 0, 2);
  first.add(ids, text_hash("a"), true, false);
  first.add(ids, text_hash("b"), false, false);
  first.finish({.bad_lines = 4});
  PartWriter second(dir.path(), 1, 2);
  second.add(ids, text_hash("c"), true, true);
  second.finish({});
  EXPECT_EQ(part_counts(dir.path(), 0)->bad_lines, 4);
  EXPECT_EQ(part_counts(dir.path(), 0)->documents, 1);
  EXPECT_FALSE(part_counts(dir.path(), 2));
  DocumentScan scan(dir.path(), 2);
  DocumentScan::Document document;
  ASSERT_TRUE(scan.next(document));
  EXPECT_EQ(document.tokens, 3);
  EXPECT_EQ(document.hash, text_hash("a"));
  ASSERT_TRUE(scan.next(document));
  EXPECT_EQ(document.tokens, 6);
  EXPECT_EQ(document.unit, 0);
  EXPECT_EQ(document.offset, 3);
  EXPECT_TRUE(document.left_out);
  EXPECT_FALSE(scan.next(document));
}

TEST(Parts, AnUnfinishedPartIsRemoved) {
  const TempDirectory dir;
  {
    PartWriter part(dir.path(), 0, 4);
    part.add(std::vector<std::int32_t>{1}, {}, true, false);
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(Duplicates, LaterCopiesAreMarked) {
  const TempDirectory dir;
  PartWriter part(dir.path(), 0, 2);
  const std::vector<std::int32_t> ids = {1, 2, 3};
  for (const char* text : {"a", "b", "a", "c", "b", "a"})
    part.add(ids, text_hash(text), true, false);
  part.finish({});
  const DocumentBits copies = find_duplicates(dir.path(), 1, 6, 0, MPI_COMM_NULL);
  for (const int d : {0, 1, 3}) EXPECT_FALSE(copies[d]) << d;
  for (const int d : {2, 4, 5}) EXPECT_TRUE(copies[d]) << d;
  EXPECT_FALSE(find_duplicates(dir.path(), 1, 6, 4, MPI_COMM_NULL)[2]);  // all are too short
}

}  // namespace
}  // namespace triax::test
