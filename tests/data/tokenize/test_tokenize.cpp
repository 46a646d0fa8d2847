// SPDX-License-Identifier: Apache-2.0
// tokenize() in one process: what is kept, in which order, and where a job goes on.
#include "src/data/tokenize/tokenize.hpp"

#include <set>

#include "src/data/tokenize/work_directory.hpp"
#include "tests/data/tokenize_job.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Tokenize : public testing::Test {
 protected:
  std::string out() const { return dir_.path("o"); }
  TokenizeReport run(const TokenizeOptions& options) const {
    return tokenize(options, MPI_COMM_NULL);
  }
  std::string error(const TokenizeOptions& options) const {
    return error_of([&] { run(options); });
  }
  TempDirectory dir_;
};

TEST_F(Tokenize, DocumentsOfAllFilesInOrder) {
  dir_.file("a.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
  dir_.file("b.txt.gz", gzipped("three\n"));
  dir_.file("c.jsonl.zst", zstandard("{\"text\": \"four\"}"));
  const auto report =
      run(job_of({dir_.path("a.jsonl"), dir_.path("b.txt.gz"), dir_.path("c.jsonl.zst")}, out()));
  EXPECT_THAT(texts_of(out() + ".h5"), ElementsAre("one", "two", "three\n", "four"));
  EXPECT_EQ(report.documents, 4);
  EXPECT_EQ(report.tokens, 3 + 3 + 6 + 4 + 4);
  EXPECT_THAT(report.files, ElementsAre(out() + ".h5"));
  const auto facts = token_facts(out() + ".h5");
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->tokenizer, byte_tokenizer()->fingerprint());
  EXPECT_EQ(facts->end_token, end_token);
  EXPECT_EQ(facts->documents, 4);
  EXPECT_FALSE(std::filesystem::exists(out() + ".tokenize"));
}

TEST_F(Tokenize, WithoutEndTokens) {
  auto options = job_of({dir_.file("a.jsonl", corpus(3, 3))}, out());
  options.end_token.reset();
  EXPECT_EQ(run(options).tokens, 18);
}

TEST_F(Tokenize, TheFirstOfEqualDocumentsIsKept) {
  auto options = job_of({dir_.file("a.jsonl", corpus(2000, 300))}, out());
  options.deduplicate = true;
  const auto report = run(options);
  EXPECT_EQ(report.documents, 300);
  EXPECT_EQ(report.duplicates, 1700);
  const auto texts = texts_of(out() + ".h5");
  for (std::size_t i = 0; i < texts.size(); ++i) ASSERT_EQ(texts[i], "text " + std::to_string(i));
}

TEST_F(Tokenize, ShortDocumentsAreLeftOut) {
  auto options = job_of({dir_.file("a.jsonl", corpus(12, 12))}, out());
  options.min_length = 7;  // "text 10" has 7 tokens
  EXPECT_EQ(run(options).too_short, 10);
  EXPECT_THAT(texts_of(out() + ".h5"), ElementsAre("text 10", "text 11"));
}

TEST_F(Tokenize, TheFirstDocumentsAloneAreKept) {
  auto options = job_of({dir_.file("a.jsonl", corpus(1000, 1000))}, out());
  options.max_documents = 2;
  EXPECT_EQ(run(options).documents, 2);
  EXPECT_THAT(texts_of(out() + ".h5"), ElementsAre("text 0", "text 1"));
  options.out = dir_.path("p");
  options.deduplicate = true;
  run(options);
  EXPECT_THAT(texts_of(dir_.path("p.h5")), ElementsAre("text 0", "text 1"));
}

TEST_F(Tokenize, ShufflingIsAPermutationOfItsSeed) {
  const std::string file = dir_.file("a.jsonl", corpus(500, 500));
  const auto shuffled = [&](std::uint64_t seed, const std::string& prefix) {
    auto options = job_of({file}, dir_.path(prefix));
    options.shuffle_seed = seed;
    run(options);
    return texts_of(dir_.path(prefix + ".h5"));
  };
  const auto one = shuffled(1, "s1"), two = shuffled(2, "s2");
  EXPECT_NE(one, two);
  EXPECT_EQ(std::set<std::string>(one.begin(), one.end()).size(), 500U);
  EXPECT_EQ(std::set<std::string>(two.begin(), two.end()).size(), 500U);
  EXPECT_FALSE(std::is_sorted(one.begin(), one.end()));
}

TEST_F(Tokenize, TheValidationSetIsAFunctionOfTheTexts) {
  const auto split = [&](const std::string& lines, const std::string& prefix) {
    auto options = job_of({dir_.file(prefix + ".jsonl", lines)}, dir_.path(prefix));
    options.validation_fraction = 0.2;
    const auto report = run(options);
    EXPECT_EQ(report.files.size(), 2U);
    const auto held = texts_of(dir_.path(prefix + "_val.h5"));
    EXPECT_EQ(std::ssize(held), report.validation_documents);
    EXPECT_EQ(report.documents,
              std::ssize(held) + std::ssize(texts_of(dir_.path(prefix + "_train.h5"))));
    return std::set<std::string>(held.begin(), held.end());
  };
  const auto some = split(corpus(1000, 1000), "a");
  EXPECT_GT(some.size(), 150U);
  EXPECT_LT(some.size(), 250U);
  // Twice the corpus, each document twice: the same texts are held out.
  EXPECT_EQ(split(corpus(2000, 1000), "b"), some);
}

TEST_F(Tokenize, LongTextsAreOneDocument) {
  std::string text;
  for (int i = 0; text.size() < 18U << 20; ++i) text += "line " + std::to_string(i) + " of it\n";
  auto options = job_of(
      {dir_.file("a.txt", text), dir_.file("b.txt", text), dir_.file("c.txt", "end")}, out());
  options.format = TokenFormat::megatron;
  options.deduplicate = true;
  const auto report = run(options);
  EXPECT_GT(report.units, 2);
  EXPECT_EQ(report.duplicates, 1);
  const auto texts = texts_of(out() + ".bin");
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_TRUE(texts[0] == text);
  EXPECT_EQ(texts[1], "end");
}

TEST_F(Tokenize, BadLinesAreCountedUpToTheLimit) {
  auto options =
      job_of({dir_.file("a.jsonl", corpus(2, 2) + "x\n" + corpus(1, 1) + "{}\n")}, out());
  EXPECT_THAT(error(options),
              AllOf(HasSubstr("a.jsonl:3: byte 0 of the line"), HasSubstr("--skip-bad")));
  options.skip_bad = 1;
  EXPECT_THAT(error(options), HasSubstr("more than 1 lines are bad"));
  EXPECT_FALSE(std::filesystem::exists(out() + ".h5"));
  options.skip_bad = 2;
  const auto report = run(options);
  EXPECT_EQ(report.bad_lines, 2);
  EXPECT_EQ(report.documents, 3);
}

TEST_F(Tokenize, ATruncatedFileLeavesNothingUnderTheFinalName) {
  const std::string gzip = gzipped(corpus(5000, 5000));
  auto options = job_of({dir_.file("a.jsonl.gz", gzip.substr(0, gzip.size() / 2))}, out());
  EXPECT_THAT(error(options), HasSubstr("a.jsonl.gz is truncated"));
  EXPECT_FALSE(std::filesystem::exists(out() + ".h5"));
  for (const auto& entry : std::filesystem::directory_iterator(out() + ".tokenize"))
    EXPECT_NE(entry.path().extension(), ".tokens");
}

TEST_F(Tokenize, TheSameJobIsDoneAndAnotherOneIsRefused) {
  auto options = job_of({dir_.file("a.jsonl", corpus(3, 3))}, out());
  EXPECT_FALSE(run(options).done_before);
  options.workers = 3;
  EXPECT_TRUE(run(options).done_before);
  options.min_length = 1;
  EXPECT_THAT(error(options), AllOf(HasSubstr("o.h5 is there already"), HasSubstr("--out")));
  EXPECT_TRUE(is_usage_error([&] { run(options); }));
}

// Facts of the formats beside HDF5 lie in a file of their own.
TEST_F(Tokenize, TheSameJobIsDoneInAllFormats) {
  auto options = job_of({dir_.file("a.jsonl", corpus(3, 3))}, out());
  for (const TokenFormat format : {TokenFormat::megatron, TokenFormat::llmc}) {
    options.format = format;
    options.out = dir_.path(std::string(name_of(format)));
    EXPECT_FALSE(run(options).done_before) << name_of(format);
    EXPECT_TRUE(run(options).done_before) << name_of(format);
    std::filesystem::remove(first_file(format, options.out));
    EXPECT_TRUE(is_usage_error([&] { run(options); })) << name_of(format);
  }
}

// A job that fails in its third file keeps the parts of the first two.
TEST_F(Tokenize, AJobGoesOnWhereItWas) {
  std::vector<std::string> files;
  for (int i = 0; i < 3; ++i) {
    std::string lines = corpus(900000, 100000 + i);
    files.push_back(dir_.file(std::to_string(i) + ".jsonl", lines));
  }
  auto options = job_of(files, out());
  std::ofstream(files[2], std::ios::app) << "broken\n";
  const auto stamp = std::filesystem::last_write_time(files[2]);
  EXPECT_THAT(error(options), HasSubstr("2.jsonl:900001"));
  ASSERT_TRUE(std::filesystem::exists(out() + ".tokenize/000000.tokens"));
  // The same size and time, so that the job is the same.
  std::string repaired = contents(files[2]);
  repaired.replace(repaired.size() - 7, 7, "      \n");
  std::ofstream(files[2], std::ios::binary) << repaired;
  std::filesystem::last_write_time(files[2], stamp);
  const auto report = run(options);
  EXPECT_GT(report.resumed_units, 0);
  EXPECT_LT(report.resumed_units, report.units);
  const std::string resumed = contents(out() + ".h5");
  options.out = dir_.path("p");
  EXPECT_EQ(run(options).resumed_units, 0);
  EXPECT_TRUE(contents(dir_.path("p.h5")) == resumed);
}

TEST_F(Tokenize, PartsOfAnotherJobAreNotTaken) {
  auto options = job_of({dir_.file("a.jsonl", corpus(3, 3) + "broken\n")}, out());
  options.skip_bad = 0;
  EXPECT_NE(error(options), "");
  {
    const WorkDirectory other(out(), "another job");
    dir_.file("o.tokenize/000000.tokens", "nonsense");
  }
  options.skip_bad = 1;
  EXPECT_EQ(run(options).resumed_units, 0);
  EXPECT_THAT(texts_of(out() + ".h5"), ElementsAre("text 0", "text 1", "text 2"));
}

TEST_F(Tokenize, NothingToWriteIsRefused) {
  EXPECT_THAT(error(job_of({dir_.file("a.txt", "")}, out())), HasSubstr("input files are empty"));
  EXPECT_THAT(error(job_of({dir_.file("b.jsonl", "\n\n")}, out())),
              HasSubstr("would have no document"));
  auto options = job_of({dir_.file("c.jsonl", corpus(2, 2))}, out());
  options.validation_fraction = 1e-9;
  EXPECT_THAT(error(options), HasSubstr("the validation set has no document"));
}

}  // namespace
}  // namespace triax::test
