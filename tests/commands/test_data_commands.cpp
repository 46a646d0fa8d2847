// SPDX-License-Identifier: Apache-2.0
// triax data tokenize, inspect, decode, merge, verify.
#include <nlohmann/json.hpp>

#include "tests/commands/program.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class DataCommands : public testing::Test {
 protected:
  Outcome tokenize(const std::string& options) const {
    return triax("data tokenize " + shell_word(in_) + " --tokenizer bytes --out " +
                 shell_word(out_) + " " + options);
  }
  TempDirectory dir_;
  std::string in_ =
      dir_.file("a.jsonl", "{\"t\": \"one\", \"u\": \"1\"}\n{\"t\": \"two\", \"u\": \"2\"}\n");
  std::string out_ = dir_.path("o");
};

TEST_F(DataCommands, TokenizeInspectDecodeMergeVerify) {
  const Outcome made = tokenize("--json-keys u t --join ' ' --end-token '|'");
  EXPECT_EQ(made.status, 0) << made.text;
  EXPECT_THAT(made.text, StartsWith(out_ + ".h5: 2 documents, 12 tokens of "));
  const std::string file = shell_word(out_ + ".h5");
  EXPECT_THAT(tokenize("--json-keys u t --join ' ' --end-token '|' --workers 2").text,
              HasSubstr("made before from the same files"));
  const Outcome inspected = triax("data inspect " + file + " --tokenizer bytes");
  EXPECT_THAT(inspected.text,
              AllOf(HasSubstr("hdf5, 12 tokens, 2 documents"), HasSubstr("document 1: \"2 two\"")));
  EXPECT_EQ(nlohmann::json::parse(triax("data inspect --json " + file).text).at("tokens"), 12);
  EXPECT_EQ(triax("data decode " + file + " --tokenizer bytes --document 1").text, "2 two\n");
  EXPECT_EQ(triax("data decode " + file + " --tokenizer bytes --json").text,
            "{\"document\":0,\"text\":\"1 one\"}\n");
  const std::string merged = dir_.path("m");
  EXPECT_THAT(
      triax("data merge " + file + " " + file + " --format megatron --out " + shell_word(merged))
          .text,
      HasSubstr("m.bin: 4 documents, 24 tokens"));
  EXPECT_EQ(triax("data verify " + shell_word(merged + ".bin")).text,
            "ok: " + merged + ".bin, 24 tokens\n");
  std::string bytes = contents(merged + ".bin");
  bytes[0] = 'x';
  dir_.file("m.bin", bytes);
  const Outcome damaged = triax("data verify " + shell_word(merged + ".bin"));
  EXPECT_EQ(damaged.status, 3);
  EXPECT_THAT(damaged.text, HasSubstr("its tokens do not match their checksum"));
}

TEST_F(DataCommands, WrongOptionsAreRefused) {
  const auto refused = [&](const std::string& options, const std::string& text) {
    const Outcome outcome = tokenize(options);
    EXPECT_EQ(outcome.status, 2) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(text));
  };
  refused("--json-keys t --split-sentences", "a causal model is trained on whole documents");
  refused("--json-keys t", "names no token that ends a document");
  refused("--json-keys t --append-eod --no-append-eod", "--no-append-eod");
  refused("--json-keys t --no-append-eod --format npy", "--format");
  const Outcome failed = tokenize("--json-keys v --no-append-eod");
  EXPECT_EQ(failed.status, 3);
  EXPECT_THAT(failed.text, AllOf(HasSubstr(in_ + ":1: "), HasSubstr("no string \"v\"")));
}

TEST_F(DataCommands, AFullDiskLeavesNoOutput) {
  dir_.file("a.jsonl", "{\"t\": \"" + std::string(15 << 20, 'x') + "\"}\n");
  const Outcome outcome = outcome_of_script(
      "ulimit -f 20000; " +
      command_of("data tokenize " + shell_word(in_) +
                 " --tokenizer bytes --json-keys t --no-append-eod --out " + shell_word(out_)));
  EXPECT_EQ(outcome.status, 3) << outcome.text;
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr("cannot write " + out_ + ".tokenize/"), HasSubstr("ulimit -f")));
  EXPECT_FALSE(std::filesystem::exists(out_ + ".h5"));
  EXPECT_EQ(tokenize("--json-keys t --no-append-eod").status, 0);
}

// The tokenizer that is trained is one that `data tokenize` takes, with its end token.
TEST_F(DataCommands, TrainATokenizerAndUseIt) {
  const std::string tokenizer = dir_.path("tok");
  const std::string training = "data train-tokenizer " + shell_word(in_) +
                               " --json-keys t u --vocab-size 260 --out " + shell_word(tokenizer);
  const Outcome trained = triax(training + " --workers 2 --special '<end>' '<user>'");
  EXPECT_EQ(trained.status, 0) << trained.text;
  EXPECT_THAT(trained.text, StartsWith(tokenizer + "/tokenizer.json: 260 entries, 2 merges of "));
  EXPECT_FALSE(std::filesystem::exists(tokenizer + "/.lock"));
  const Outcome made = triax("data tokenize " + shell_word(in_) + " --field t --tokenizer " +
                             shell_word(tokenizer) + " --out " + shell_word(out_));
  EXPECT_EQ(made.status, 0) << made.text;
  EXPECT_EQ(triax("data decode " + shell_word(out_ + ".h5") + " --tokenizer " +
                  shell_word(tokenizer) + " --document 1")
                .text,
            "two\n");
  const Outcome again = triax(training);
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.text, HasSubstr("give --overwrite"));
  const Outcome replaced = triax(training + " --overwrite --min-frequency 9");
  EXPECT_EQ(replaced.status, 0) << replaced.text;
  EXPECT_THAT(replaced.text, HasSubstr("3 entries fewer than --vocab-size"));
}

TEST_F(DataCommands, ATokenizerThatCannotBeTrainedLeavesNothing) {
  const std::string tokenizer = dir_.path("tok");
  const auto refused = [&](const std::string& options, int status, const std::string& text) {
    const Outcome outcome =
        triax("data train-tokenizer " + options + " --out " + shell_word(tokenizer));
    EXPECT_EQ(outcome.status, status) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(tokenizer));
  };
  refused(shell_word(in_) + " --vocab-size 256", 2, "Set --vocab-size to 257 or more");
  refused(shell_word(in_) + " --vocab-size 300 --pattern gpt5", 2, "--pattern");
  refused(shell_word(dir_.path("none")) + " --vocab-size 300", 2, "cannot open");
  refused("--vocab-size 300", 2, "IN");
  refused(shell_word(in_) + " --vocab-size 300 --json-keys v", 3, "no string \"v\"");
}

}  // namespace
}  // namespace triax::test
