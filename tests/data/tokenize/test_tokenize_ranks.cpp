// SPDX-License-Identifier: Apache-2.0
// tokenize() on several ranks: the bytes of one process, and failures on all ranks.
#include "src/data/tokenize/tokenize.hpp"
#include "tests/data/tokenize_job.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

class TokenizeRanks : public testing::Test {
 protected:
  TokenizeRanks() : ranks_(MPI_COMM_WORLD), path_(broadcast_text(ranks_, dir_.path())) {}
  // Rank 0 alone writes the inputs.
  void SetUp() override {
    agreed(ranks_, [&] {
      if (ranks_.rank != 0) return;
      const std::string lines = corpus(900000, 250000);
      dir_.file("a.jsonl", lines);
      dir_.file("b.jsonl.gz", gzipped(lines.substr(0, lines.size() / 2) + "broken\n"));
      std::string text;
      for (int i = 0; text.size() < 17U << 20; ++i) text += "line " + std::to_string(i) + "\n";
      dir_.file("c.txt", text);
      for (const char* folder : {"alone", "together"})
        std::filesystem::create_directory(dir_.path(folder));
    });
  }
  TokenizeOptions job(const std::string& folder, TokenFormat format) const {
    auto options = job_of({path_ + "/a.jsonl", path_ + "/b.jsonl.gz", path_ + "/c.txt"},
                          path_ + "/" + folder + "/o");
    options.format = format;
    options.shard_tokens = 3'000'000;
    options.skip_bad = 1;
    return options;
  }
  TempDirectory dir_;
  Ranks ranks_;
  std::string path_;
};

TEST_F(TokenizeRanks, TheBytesAreThoseOfOneProcess) {
  for (const TokenFormat format : {TokenFormat::hdf5, TokenFormat::megatron, TokenFormat::llmc})
    for (const bool shuffled : {false, true}) {
      auto options = job("together", format);
      options.deduplicate = shuffled;
      if (shuffled) options.shuffle_seed = 5;
      options.validation_fraction = shuffled ? 0.1 : 0.0;
      options.workers = 2;
      const auto report = tokenize(options, ranks_);
      agreed(ranks_, [&] {
        if (ranks_.rank != 0) return;
        options.out = path_ + "/alone/o";
        options.workers = 1;
        const auto alone = tokenize(options, MPI_COMM_NULL);
        check(alone.tokens == report.tokens && alone.duplicates == report.duplicates, "reports");
        check(files_of(path_ + "/alone") == files_of(path_ + "/together"), "other bytes for {}",
              name_of(format));
        for (const char* folder : {"alone", "together"}) {
          std::filesystem::remove_all(dir_.path(folder));
          std::filesystem::create_directory(dir_.path(folder));
        }
      });
    }
}

TEST_F(TokenizeRanks, AllRanksMeetAFailure) {
  auto options = job("together", TokenFormat::hdf5);
  options.skip_bad = 0;
  EXPECT_THAT(error_of([&] { tokenize(options, ranks_); }), HasSubstr("b.jsonl.gz:"));
  options.inputs = {path_ + "/none"};
  EXPECT_TRUE(is_usage_error([&] { tokenize(options, ranks_); }));
}

TEST_F(TokenizeRanks, TheFirstDocumentsAreThoseOfOneProcess) {
  auto options = job("together", TokenFormat::hdf5);
  options.max_documents = 5;
  EXPECT_EQ(tokenize(options, ranks_).documents, 5);
  if (ranks_.rank == 0) {
    EXPECT_THAT(texts_of(options.out + ".h5"),
                testing::ElementsAre("text 0", "text 1", "text 2", "text 3", "text 4"));
  }
}

}  // namespace
}  // namespace triax::test
