// SPDX-License-Identifier: Apache-2.0
// Data, tokenizer and checkpoints of a job, as load reads them.
#include <gmock/gmock.h>

#include <filesystem>

#include "src/config/load/load.hpp"
#include "tests/config/job_files.hpp"
#include "tests/config/model_texts.hpp"

namespace triax {
namespace {
using testing::HasSubstr;

class ResolveFiles : public testing_support::JobFiles {};

TEST_F(ResolveFiles, SequenceLength) {
  EXPECT_EQ(config("").data.sequence_length, 128) << "the model's positions";
  EXPECT_EQ(config("", 1, {"model.n_positions=4096"}).data.sequence_length, 1024);
  EXPECT_EQ(error("", 1, {"data.seq_length=129"}),
            "--set: data.seq_length: 129 is more than the model's 128 positions. Set it to at most "
            "128, or to \"auto\"");
}

TEST_F(ResolveFiles, BytesNeedAVocabularyOf256) {
  EXPECT_EQ(error("", 1, {"model.vocab_size=255"}),
            "--set: model.vocab_size: 255 is less than the 256 tokens of data.tokenizer \"bytes\", "
            "with which text.txt would be read. Set it to at least 256, or name token files "
            "(llm.c, Megatron, HDF5)");
  write("tokens.bin", "x");
  EXPECT_EQ(error("", 1, {"model.vocab_size=255", "data.train=tokens.bin"}), "")
      << "token files bring their own vocabulary";
  write("shard", std::string("\x88\xd8\x34\x01\x01\0\0\0", 8) + "tokens");
  EXPECT_EQ(error("", 1, {"model.vocab_size=255", "data.train=shard"}), "")
      << "whatever they are called";
}

TEST_F(ResolveFiles, TheTokenizerIsThatOfTokenFiles) {
  EXPECT_THAT(error("", 1, {"data.tokenizer=gpt2:dir"}),
              HasSubstr("data.tokenizer: no such file or directory: dir. Set it to a tokenizer's"));
  write("gpt/vocab.json", "{}");
  EXPECT_THAT(error("", 1, {"data.tokenizer=gpt2:gpt"}),
              HasSubstr("text.txt is text, which a run reads as bytes. Make token files of it "
                        "(triax data tokenize text.txt --tokenizer gpt2:gpt --out"));
  write("tokens.bin", "x");
  const auto data = [&](const std::string& tokenizer) {
    return config("", 1, {"data.train=tokens.bin", "data.tokenizer=" + tokenizer}).data;
  };
  EXPECT_THAT(data("gpt2:gpt").tokenizer, testing::MatchesRegex("gpt2:/.*/gpt"));
  EXPECT_THAT(data("gpt").tokenizer, testing::MatchesRegex("/.*/gpt"));
  EXPECT_EQ(data("bytes").tokenizer, "bytes");
  EXPECT_EQ(config("").data.tokenizer, "auto");
  EXPECT_EQ(config("").data.tokenizer_hash, "");
  EXPECT_EQ(config("", 1, {"data.tokenizer_hash=\"12\""}).data.tokenizer_hash, "12");
}

// A BPE model that is fed raw bytes would train without an error and lose what it had learned.
TEST_F(ResolveFiles, WeightsFromElsewhereAreNotTrainedOnBytesUnasked) {
  write("hf/config.json", testing_support::with_sizes(R"({"model_type": "gpt2"})"));
  write("hf/model.safetensors", "x");
  write("tokens.bin", "x");
  const auto with = [&](const std::string& data, const std::string& model = R"("from": "hf")") {
    return error_of(write("from.json", R"({"model": {)" + model + R"(}, "train_batch_size": 1,
      "data": {)" + data + "}}"));
  };
  const auto refusal = testing::AllOf(
      HasSubstr("data.tokenizer: missing: text.txt would be read as bytes, but the 50257 tokens"),
      HasSubstr("or set data.tokenizer to \"bytes\""));
  EXPECT_THAT(with(R"("train": "text.txt")"), refusal);
  EXPECT_THAT(with(R"("train": "tokens.bin", "valid": "text.txt")"), refusal);
  EXPECT_EQ(with(R"("train": "text.txt", "tokenizer": "bytes")"), "");
  EXPECT_EQ(with(R"("train": "tokens.bin")"), "");
  EXPECT_THAT(with(R"("train": "text.txt", "tokenizer": "auto")"), refusal);
  EXPECT_EQ(with(R"("train": "text.txt")", R"("config": "hf/config.json")"), "") << "fresh weights";
  EXPECT_EQ(with(R"("train": "text.txt")", R"("from": "hf", "vocab_size": 256)"), "")
      << "as triax exports a model of bytes";
}

// The hub's cache has a folder per model, whose files are links.
TEST_F(ResolveFiles, AModelOfTheHubsCacheIsItsSnapshot) {
  const std::string blob = write("models--a--b/blobs/1", "x");
  write("models--a--b/snapshots/abc/config.json",
        testing_support::with_sizes(R"({"model_type": "gpt2"})"));
  write("tokens.bin", "x");
  const std::filesystem::path snapshot =
      std::filesystem::path(blob).parent_path().parent_path() / "snapshots/abc";
  const auto job = [&](const std::string& from) {
    return write("from.json", R"({"model": {"from": ")" + from + R"("}, "train_batch_size": 1,
      "data": {"train": "tokens.bin"}})");
  };
  EXPECT_THAT(error_of(job("models--a--b")), HasSubstr("no model.safetensors in"));
  std::filesystem::create_symlink("../../blobs/1", snapshot / "model.safetensors");
  write("models--a--b/refs/main", "abc");
  EXPECT_EQ(error_of(job("models--a--b")), "");
  EXPECT_THAT(load_job(job("models--a--b"), {}, 1).config.model.weights,
              testing::EndsWith("models--a--b/snapshots/abc"));
  std::filesystem::remove(blob);
  EXPECT_THAT(error_of(job("models--a--b")), HasSubstr("is a link to nothing (../../blobs/1)"));
  write("models--a--b/refs/main", "def");
  EXPECT_THAT(error_of(job("models--a--b")), HasSubstr("model.from: "));
  EXPECT_THAT(error_of(job("models--a--b")), HasSubstr("has no snapshot def"));
}

TEST_F(ResolveFiles, Files) {
  EXPECT_EQ(config("").checkpoint.directory, "runs/triax/checkpoints");
  EXPECT_EQ(config(R"(, "run": {"directory": "here"})").checkpoint.directory, "here/checkpoints");
  EXPECT_EQ(config(R"(, "checkpoint": {"directory": "there"})").checkpoint.directory, "there");
  EXPECT_EQ(config(R"(, "checkpoint": {"resume": "no.h5"})").checkpoint.resume, "no.h5")
      << "a batch job that is run again needs it no more";
  EXPECT_THAT(error(R"(, "checkpoint": {"resume": "no.h5"}, "nonsense": 1)"),
              HasSubstr("checkpoint.resume: no such file: no.h5"));
  EXPECT_EQ(config(R"(, "checkpoint": {"resume": "must"})").checkpoint.resume, "must");
  EXPECT_THAT(error(R"(, "run": {"eval_interval": 5})"),
              HasSubstr("run.eval_interval: nothing to validate on"));
  EXPECT_EQ(
      config(R"(, "run": {"eval_interval": 5})", 1, {"data.valid=text.txt"}).run.eval_interval, 5);
}

}  // namespace
}  // namespace triax
