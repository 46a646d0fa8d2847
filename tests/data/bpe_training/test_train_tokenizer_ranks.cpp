// SPDX-License-Identifier: Apache-2.0
// train_tokenizer() on several ranks: the bytes of one process, and failures on all ranks.
#include <nlohmann/json.hpp>

#include "src/data/bpe_training/train_tokenizer.hpp"
#include "tests/data/bpe_training/trained_cases.hpp"
#include "tests/io/document_fixtures.hpp"
#include "tests/io/rank_fixtures.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

class TrainTokenizerRanks : public testing::Test {
 protected:
  // Rank 0 alone writes the inputs.
  void SetUp() override {
    if (ranks_.rank != 0) return;
    std::filesystem::create_directory(dir_.path("in"));
    for (int f = 0; f < 5; ++f) write("in/" + std::to_string(f) + ".txt", text(f, 9U << 20));
    write("in/a.jsonl.gz", gzipped(json_lines(trained_case("gpt2").documents)));
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_.path(name), std::ios::binary) << text;
  }
  static std::string text(int seed, std::size_t bytes) {
    std::string text;
    for (std::uint64_t i = 0; text.size() < bytes; ++i)
      text += "Word" + std::to_string((i * i + static_cast<std::uint64_t>(seed)) % 9973 * 7919) +
              (i % 11 == 0 ? "\nLine" : " ");
    return text;
  }
  TrainTokenizerOptions job(const std::string& out) const {
    TrainTokenizerOptions options;
    options.inputs = {dir_.path("in")};
    options.bpe.vocabulary = 900;
    options.out = dir_.path(out);
    return options;
  }
  SharedDirectory dir_;
  Ranks ranks_{MPI_COMM_WORLD};
};

TEST_F(TrainTokenizerRanks, TheBytesAreThoseOfOneProcess) {
  agree(ranks_, "");
  auto options = job("together");
  options.workers = 2;
  const TrainTokenizerReport report = train_tokenizer(options, ranks_);
  EXPECT_EQ(report.vocabulary, 900);
  agreed(ranks_, [&] {
    if (ranks_.rank != 0) return;
    const TrainTokenizerReport alone = train_tokenizer(job("alone"), MPI_COMM_NULL);
    check(alone.words == report.words && alone.documents == report.documents, "reports differ");
    for (const char* file : {"/tokenizer.json", "/tokenizer_config.json"})
      check(contents(dir_.path("alone") + file) == contents(dir_.path("together") + file), "{}",
            file);
  });
}

TEST_F(TrainTokenizerRanks, AllRanksMeetAFailure) {
  agree(ranks_, "");
  if (ranks_.rank == 0) write("in/z.jsonl", "broken\n");
  agree(ranks_, "");
  EXPECT_THAT(error_of([&] { train_tokenizer(job("none"), ranks_); }), HasSubstr("z.jsonl:1:"));
  auto options = job("none");
  options.bpe.vocabulary = 100;
  EXPECT_TRUE(is_usage_error([&] { train_tokenizer(options, ranks_); }));
  agreed(ranks_, [&] {
    if (ranks_.rank == 0) check(!std::filesystem::exists(dir_.path("none")), "files are left");
  });
}

}  // namespace
}  // namespace triax::test
