// SPDX-License-Identifier: Apache-2.0
// A tokenizer on its way: text, token file, run, checkpoint, generated text, export, import.
#include <cctype>
#include <nlohmann/json.hpp>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "tests/commands/program.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string golden = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/tokenizers/";

class TokenizerTravels : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(tokenizer_);
    fs::copy_file(golden + "gpt2/tokenizer.json", tokenizer_ + "/tokenizer.json");
    directory_.file("gpt2/tokenizer_config.json", R"({"eos_token": "<|end|>"})");
    directory_.file("gpt2/chat_template.jinja", "{{ messages }}\r\n");
    std::string text;
    for (int i = 0; i < 400; ++i) text += "{\"text\": \"line " + std::to_string(i) + "\"}\n";
    directory_.file("text.jsonl", text);
    ASSERT_EQ(tokenize(tokenizer_, "data", "hdf5").status, 0);
    directory_.file("job.json", R"({
      "model": {"architecture": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16, "n_positions": 32, "vocab_size": 448},
      "data": {"train": "data.h5", "tokenizer": "gpt2"}, "run": {"steps": 2, "directory": ")" +
                                    directory_.path("run") + R"("}, "train_batch_size": 2})");
  }
  Outcome tokenize(const std::string& tokenizer, const std::string& out,
                   const std::string& format) const {
    return triax("data tokenize " + shell_word(directory_.path("text.jsonl")) + " --tokenizer " +
                 shell_word(tokenizer) + " --format " + format + " --out " +
                 shell_word(directory_.path(out)) + " --end-token '<|end|>'");
  }
  Outcome train(const std::string& more = "") const {
    return triax("train " + shell_word(directory_.path("job.json")) + " " + more);
  }
  std::string checkpoint(std::int64_t step = 2) const {
    return checkpoint_path(directory_.path("run/checkpoints"), step);
  }
  Outcome generate(const std::string& more) const {
    return triax("generate " + shell_word(checkpoint()) + " --prompt 'line 1' " + more);
  }
  void expect_same_files(const std::string& there) const {
    for (const char* name : {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"})
      EXPECT_EQ(contents(there + "/" + name), contents(tokenizer_ + "/" + name)) << name;
  }

  TempDirectory directory_;
  std::string tokenizer_ = directory_.path("gpt2");
};

TEST_F(TokenizerTravels, FromTextToExportAndBack) {
  const Outcome trained = train();
  ASSERT_EQ(trained.status, 0) << trained.text;
  const auto facts =
      nlohmann::json::parse(triax("tokenizer inspect --json " + shell_word(tokenizer_)).text);
  const std::string hash = facts.at("fingerprint");
  EXPECT_EQ(
      nlohmann::json::parse(contents(directory_.path("run/job.json")))["data"]["tokenizer_hash"],
      hash);
  const Outcome inspected = triax("checkpoint inspect " + shell_word(checkpoint()));
  EXPECT_EQ(inspected.status, 0) << inspected.text;
  EXPECT_THAT(inspected.text,
              HasSubstr("tokenizer tokenizer.json, vocabulary " + facts.at("vocabulary").dump() +
                        ", SHA-256 " + hash +
                        "; files chat_template.jinja, tokenizer.json, tokenizer_config.json"));
  EXPECT_EQ(
      nlohmann::json::parse(
          triax("checkpoint inspect --json " + shell_word(checkpoint())).text)["tokenizer"]["hash"],
      hash);
  EXPECT_THAT(triax("tokenizer inspect " + shell_word(checkpoint())).text, HasSubstr(hash));
  EXPECT_EQ(triax("tokenizer encode " + shell_word(checkpoint()) + " 'line 12'").text,
            triax("tokenizer encode " + shell_word(tokenizer_) + " 'line 12'").text);

  const std::string out = directory_.path("out");
  const Outcome exported = triax_on(
      2, "checkpoint export " + shell_word(checkpoint()) + " --to huggingface " + shell_word(out));
  EXPECT_THAT(exported.text, HasSubstr("3 file(s) of the tokenizer"));
  expect_same_files(out);
  const std::string imported = directory_.path("imported.h5");
  const Outcome import =
      triax("checkpoint import " + shell_word(out) + " --out " + shell_word(imported));
  EXPECT_THAT(import.text, HasSubstr("tokenizer tokenizer.json"));
  EXPECT_THAT(triax("tokenizer inspect " + shell_word(imported)).text, HasSubstr(hash));
  fs::remove_all(out);
  EXPECT_EQ(
      triax("checkpoint export " + shell_word(imported) + " --to huggingface " + shell_word(out))
          .status,
      0);
  expect_same_files(out);
  directory_.file("out/tokenizer.json", "another");
  fs::remove(out + "/config.json");
  fs::remove(out + "/model.safetensors");
  EXPECT_THAT(
      triax("checkpoint export " + shell_word(imported) + " --to huggingface " + shell_word(out))
          .text,
      HasSubstr("has a tokenizer that is not the model's"));
}

TEST_F(TokenizerTravels, GenerateTakesItUnasked) {
  ASSERT_EQ(train().status, 0);
  const Outcome own = generate("--max-tokens 20 --ignore-eos");
  EXPECT_EQ(own.status, 0) << own.text;
  EXPECT_EQ(own.text,
            generate("--max-tokens 20 --ignore-eos --tokenizer " + shell_word(tokenizer_)).text);
  EXPECT_THAT(own.text, Not(HasSubstr("SHA-256")));
  EXPECT_THAT(generate("--tokenizer " + shell_word(golden + "llama3")).text,
              AllOf(HasSubstr("is not the tokenizer of the model"), HasSubstr("SHA-256")));
}

TEST_F(TokenizerTravels, EvaluateTakesItUnasked) {
  ASSERT_EQ(train().status, 0);
  directory_.file("prompts.jsonl", R"({"prompt": "line 1", "answer": "2", "max_tokens": 4})");
  const auto results = [&](const std::string& more) {
    const Outcome outcome =
        triax("evaluate " + shell_word(checkpoint()) + " --data " +
              shell_word(directory_.path("text.jsonl")) + " --task " +
              shell_word(directory_.path("prompts.jsonl")) + " --json " + more + " 2>/dev/null");
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    return nlohmann::json::parse(outcome.text).at("results");
  };
  const auto own = results("");
  EXPECT_EQ(own, results("--tokenizer " + shell_word(tokenizer_)));
  EXPECT_EQ(own.at(0).at("documents"), 400);
  EXPECT_EQ(own.at(1).at("documents"), 1);
}

TEST_F(TokenizerTravels, GenerateStops) {
  ASSERT_EQ(train().status, 0);
  const auto json = [&](const std::string& more) {
    return nlohmann::json::parse(
        generate("--json --max-tokens 4000 " + more + " 2>/dev/null").text);
  };
  const auto all = json("--ignore-eos");
  EXPECT_EQ(all["tokens"].size(), 4000U);
  EXPECT_EQ(all["stopped_by"], "max_tokens");
  const std::string text = all["text"];
  // A hardly trained model draws every token sooner or later, the end token too.
  const std::size_t end = text.find("<|end|>");
  ASSERT_NE(end, std::string::npos) << text;
  const auto ended = json("");
  EXPECT_EQ(ended["stopped_by"], "end_token");
  EXPECT_EQ(ended["text"], text.substr(0, end));
  // Two letters, which are of two tokens as a rule.
  std::size_t at = end / 2;
  while (std::isalnum(static_cast<unsigned char>(text[at])) == 0 ||
         std::isalnum(static_cast<unsigned char>(text[at + 1])) == 0)
    ++at;
  const std::string stop = text.substr(at, 2);
  const auto stopped = json("--stop " + shell_word("never there") + " --stop " + shell_word(stop));
  EXPECT_EQ(stopped["stopped_by"], "stop_text");
  EXPECT_EQ(stopped["text"], text.substr(0, text.find(stop)));
  EXPECT_EQ(generate("--stop ''").status, 2);
}

TEST_F(TokenizerTravels, DataOfAnotherTokenizerAreRefusedBeforeTheFirstStep) {
  for (const auto& [format, file] :
       {std::pair{"hdf5", "other.h5"}, {"megatron", "other.bin"}, {"llmc", "other_000000.bin"}}) {
    SCOPED_TRACE(format);
    ASSERT_EQ(tokenize(golden + "llama3", "other", format).status, 0);
    const Outcome refused =
        triax_on(2, "train " + shell_word(directory_.path("job.json")) +
                        " --set data.valid=" + shell_word(file) + " --set run.eval_interval=1");
    EXPECT_EQ(refused.status, 2) << refused.text;
    EXPECT_THAT(refused.text, AllOf(HasSubstr("was made by another tokenizer than the run's"),
                                    HasSubstr("triax data tokenize --tokenizer")));
    EXPECT_FALSE(fs::exists(directory_.path("run/metrics.jsonl")));
    for (const char* command : {"inspect ", "decode ", "verify "})
      EXPECT_THAT(triax(std::string("data ") + command + shell_word(directory_.path(file)) +
                        " --tokenizer " + shell_word(tokenizer_))
                      .text,
                  HasSubstr("was made by another tokenizer"));
    for (const auto& entry : fs::directory_iterator(directory_.path()))
      if (entry.path().filename().string().starts_with("other")) fs::remove_all(entry.path());
  }
}

TEST_F(TokenizerTravels, AResumedRunKeepsItWithoutItsDirectory) {
  ASSERT_EQ(train().status, 0);
  fs::rename(tokenizer_, directory_.path("away"));
  const Outcome gone = train("--set run.steps=3");
  EXPECT_EQ(gone.status, 2);
  EXPECT_THAT(gone.text, HasSubstr("data.tokenizer: no such file or directory"));
  const Outcome resumed = train("--set run.steps=3 --set data.tokenizer=auto");
  EXPECT_EQ(resumed.status, 0) << resumed.text;
  EXPECT_THAT(resumed.text, Not(HasSubstr("with another")));
  EXPECT_EQ(triax("tokenizer encode " + shell_word(checkpoint(3)) + " 'line 12'").text,
            triax("tokenizer encode " + shell_word(directory_.path("away")) + " 'line 12'").text);
  const Outcome other =
      train("--set run.steps=4 --set data.tokenizer=" + shell_word(golden + "llama3"));
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.text, HasSubstr("was not trained on tokens of data.tokenizer"));
}

}  // namespace
}  // namespace triax::test
