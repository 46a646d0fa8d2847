// SPDX-License-Identifier: Apache-2.0
// The job: files in, the files of Hugging Face out; and what is refused.
#include "src/data/bpe_training/train_tokenizer.hpp"

#include "src/text/tokenizer.hpp"
#include "tests/data/bpe_training/trained_cases.hpp"
#include "tests/io/document_fixtures.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TrainTokenizer : public testing::Test {
 protected:
  TrainTokenizerOptions job(const std::vector<std::string>& inputs) const {
    TrainTokenizerOptions options;
    options.inputs = inputs;
    options.bpe.vocabulary = 300;
    options.out = dir_.path("out");
    return options;
  }
  static TrainTokenizerReport run(const TrainTokenizerOptions& options) {
    return train_tokenizer(options, MPI_COMM_NULL);
  }
  std::string refusal(const TrainTokenizerOptions& options) const {
    EXPECT_TRUE(is_usage_error([&] { run(options); }));
    EXPECT_FALSE(std::filesystem::exists(options.out + "/tokenizer.json"));
    return error_of([&] { run(options); });
  }
  TempDirectory dir_;
};

TEST_F(TrainTokenizer, WritesTheFilesOfHuggingFace) {
  for (const std::string& name : trained_cases) {
    const TrainedCase trained = trained_case(name);
    auto options = job({dir_.file("in.jsonl.gz", gzipped(json_lines(trained.documents)))});
    options.pattern = trained.pattern;
    options.bpe = trained.bpe;
    options.workers = 2;
    options.overwrite = true;
    const TrainTokenizerReport report = run(options);
    EXPECT_EQ(contents(options.out + "/tokenizer.json"), trained.tokenizer_json) << name;
    EXPECT_EQ(report.documents, std::ssize(trained.documents));
    const auto tokenizer = open_tokenizer(options.out);
    EXPECT_EQ(tokenizer->vocabulary(), report.vocabulary);
    EXPECT_EQ(tokenizer->end_token(), 0);
    for (const std::string& text : trained.documents) {
      std::vector<std::int32_t> ids;
      tokenizer->encoder()->encode(text, {}, ids);
      EXPECT_EQ(tokenizer->decode(ids, false), text);
    }
  }
}

// One file, units of it in several threads, lines and compressed files: the same words.
TEST_F(TrainTokenizer, HowTheCorpusLiesInFilesDoesNotMatter) {
  std::string line, text;
  for (int i = 0; text.size() < 17U << 20; ++i)
    text += "Line " + std::to_string(i) + " of a long text\n";
  auto options = job({dir_.file("a.txt", text)});
  run(options);
  const std::string json = contents(options.out + "/tokenizer.json");
  options.overwrite = true;
  options.workers = 3;
  options.inputs = {dir_.file("a.jsonl.zst", zstandard(json_lines({text})))};
  run(options);
  EXPECT_EQ(contents(options.out + "/tokenizer.json"), json);
}

TEST_F(TrainTokenizer, ADocumentIsAFileOrALine) {
  auto options = job({dir_.file("a.txt", "ab \n ab\n")});
  EXPECT_EQ(run(options).documents, 1);
  const std::string file = contents(options.out + "/tokenizer.json");
  options.input_format = DocumentFormat::lines;
  options.overwrite = true;
  EXPECT_EQ(run(options).documents, 2);
  EXPECT_NE(contents(options.out + "/tokenizer.json"), file);
}

TEST_F(TrainTokenizer, RefusesOptionsThatCannotHold) {
  auto options = job({dir_.file("a.txt", "text")});
  options.bpe.vocabulary = 256;
  EXPECT_THAT(refusal(options), AllOf(HasSubstr("a vocabulary of 256 entries is too small"),
                                      HasSubstr("Set --vocab-size to 257 or more")));
  options = job({dir_.file("a.txt", "text")});
  options.pattern = "gpt5";
  EXPECT_THAT(refusal(options), HasSubstr("Set --pattern to one of gpt2, llama3, qwen2"));
  options = job({dir_.file("a.txt", "text")});
  options.bpe.special = {"<e>", "<e>"};
  EXPECT_THAT(refusal(options), HasSubstr("<e> is given twice"));
  options.bpe.special = {""};
  EXPECT_THAT(refusal(options), HasSubstr("a special token is empty"));
  options.bpe.special = {};
  EXPECT_THAT(refusal(options), HasSubstr("there is no special token"));
}

TEST_F(TrainTokenizer, RefusesACorpusWithoutText) {
  EXPECT_THAT(refusal(job({dir_.path("none")})), HasSubstr("cannot open"));
  EXPECT_THAT(refusal(job({dir_.file("a.txt", "")})), HasSubstr("the input files have no text"));
  EXPECT_THAT(refusal(job({dir_.file("a.jsonl", "{\"text\": \"\"}\n")})),
              HasSubstr("the input files have no text"));
}

TEST_F(TrainTokenizer, KeepsFilesThatAreThere) {
  std::filesystem::create_directory(dir_.path("out"));
  dir_.file("out/notes", "mine");
  auto options = job({dir_.file("a.txt", "text text")});
  EXPECT_THAT(refusal(options),
              AllOf(HasSubstr("has files already (notes)"), HasSubstr("--overwrite")));
  options.overwrite = true;
  run(options);
  EXPECT_EQ(contents(dir_.path("out/notes")), "mine");
}

TEST_F(TrainTokenizer, TextThatIsNotUtf8) {
  const std::string bad = "bad \xff bad", good = "good good";
  auto options = job({dir_.file("a.txt", bad), dir_.file("b.txt", good)});
  EXPECT_THAT(error_of([&] { run(options); }),
              HasSubstr("a.txt:1: byte 4 of the file is not UTF-8"));
  EXPECT_FALSE(std::filesystem::exists(options.out + "/tokenizer.json"));
  options.documents.invalid = InvalidText::replace;
  EXPECT_EQ(run(options).replaced, 1);
  options.documents.invalid = InvalidText::skip;
  options.overwrite = true;
  // A long text is left out as a whole, though its first pieces are valid.
  dir_.file("a.txt", std::string(20 << 20, 'a') + bad);
  const TrainTokenizerReport report = run(options);
  EXPECT_EQ(report.invalid, 1);
  EXPECT_EQ(report.documents, 1);
  const std::string skipped = contents(options.out + "/tokenizer.json");
  options.inputs = {dir_.path("b.txt")};
  run(options);
  EXPECT_EQ(contents(options.out + "/tokenizer.json"), skipped);
}

TEST_F(TrainTokenizer, BadLines) {
  auto options = job({dir_.file("a.jsonl", "{\"text\": \"one one\"}\nbroken\n")});
  EXPECT_THAT(error_of([&] { run(options); }), HasSubstr("a.jsonl:2:"));
  options.skip_bad = 1;
  EXPECT_EQ(run(options).bad_lines, 1);
}

}  // namespace
}  // namespace triax::test
