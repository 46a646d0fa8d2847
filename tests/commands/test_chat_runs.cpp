// SPDX-License-Identifier: Apache-2.0
// Runs on conversations: triax data show and triax train.
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/files/sha256.hpp"
#include "tests/commands/program.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ChatRuns : public testing::Test {
 protected:
  void SetUp() override {
    const std::string golden = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/";
    std::filesystem::create_directories(dir_.path("tok"));
    std::filesystem::copy_file(golden + "tokenizers/gpt2/tokenizer.json",
                               dir_.path("tok/tokenizer.json"));
    dir_.file("tok/chat_template.jinja",
              "{% for m in messages %}{{ '<s>' + m.role + ': ' }}{% if m.role == 'assistant' %}{% "
              "generation %}"
              "{{ m.content + '<|end|>' }}{% endgeneration %}{% else %}{{ m.content + '<|end|>' "
              "}}{% endif %}"
              "{% endfor %}");
    std::string lines;
    for (int i = 0; i < 8; ++i)
      lines +=
          R"({"messages": [{"role": "user", "content": "number?"}, {"role": "assistant", "content": "it is )" +
          std::to_string(i) + "\"}]}\n";
    dir_.file("chats.jsonl",
              lines + R"({"messages": [{"role": "user", "content": "no answer"}]})" + "\n");
    dir_.file("job.json", R"({
      "model": {"architecture": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16, "n_positions": 64, "vocab_size": 512},
      "data": {"train": "chats.jsonl", "valid": "chats.jsonl", "format": "chat", "tokenizer": "tok", "seq_length": 48,
               "shuffle": false},
      "run": {"steps": 2, "eval_interval": 1, "directory": ")" +
                              dir_.path("run") + R"("}, "train_batch_size": 4})");
  }
  // Values of a field in metrics.jsonl of a run on some ranks, below run-NAME.
  std::vector<double> values(const std::string& field, const std::string& name) const {
    std::vector<double> found;
    std::istringstream lines(contents(dir_.path("run-" + name + "/metrics.jsonl")));
    for (std::string line; std::getline(lines, line);)
      if (const auto json = nlohmann::json::parse(line); json.contains(field))
        found.push_back(json.at(field));
    return found;
  }
  Outcome train(int ranks, const std::string& name, const std::string& more) const {
    return outcome_of(
        shell_word(MPIEXEC) + " " + MPIEXEC_RANKS + " " + std::to_string(ranks) + " " +
        command_of("train " + job() +
                   " --set run.directory=" + shell_word(dir_.path("run-" + name)) + " " + more));
  }
  std::string job() const { return shell_word(dir_.path("job.json")); }
  Outcome show(const std::string& more) const { return triax("data show " + job() + " " + more); }
  TempDirectory dir_;
};

TEST_F(ChatRuns, ShowPrintsTokensThatTrain) {
  const Outcome text = show("--sample 3");
  EXPECT_EQ(text.status, 0) << text.text;
  EXPECT_THAT(text.text, AllOf(HasSubstr("sample 3 (an epoch has 8): "),
                               HasSubstr(" * \"<|end|>\"\n"), HasSubstr(" fill the row\n"),
                               HasSubstr("1 samples without a token that trains are left out")));
  const auto json = nlohmann::json::parse(show("--sample 3 --json 2>/dev/null").text);
  std::string trained;
  for (const auto& token : json.at("tokens"))
    if (token.at("trains") == true) trained += token.at("text").get<std::string>();
  EXPECT_EQ(trained, "it is 3<|end|>");
  EXPECT_THAT(show("--sample 0 --color").text, HasSubstr("\x1b[32m"));
}

TEST_F(ChatRuns, TrainTakesThemOnAnyGrid) {
  const auto losses = [&](int ranks, const std::string& more) {
    const std::string name = std::to_string(ranks);
    const Outcome outcome = train(ranks, name, more);
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    return values("loss", name);
  };
  const std::vector<double> one = losses(1, ""), two = losses(2, "--set parallel.tensor=2");
  ASSERT_EQ(one.size(), 2U);
  ASSERT_EQ(two.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(one[i], two[i], 2e-6 * one[i]);
}

// A share of the lines validates as a file of these lines does.
class SplitRuns : public ChatRuns {
 protected:
  void SetUp() override {
    ChatRuns::SetUp();
    std::string text, sides[2];
    for (int i = 0; i < 40; ++i) {
      const std::string line =
          R"({"messages": [{"role": "user", "content": "n"}, {"role": "assistant", "content": ")" +
          std::string(static_cast<std::size_t>(1 + i % 7), 'n') + std::to_string(i) + "\"}]}";
      const bool valid = std::stod("0x0." + sha256_of(line).substr(0, 12)) < 0.25;
      sides[valid ? 1 : 0] += line + "\n";
      text += line + "\n";
    }
    dir_.file("chats.jsonl", text);
    dir_.file("train.jsonl", sides[0]);
    dir_.file("held.jsonl", sides[1]);
  }
  std::string by_hand() const {
    return "--set data.train=" + shell_word(dir_.path("train.jsonl")) +
           " --set data.valid=" + shell_word(dir_.path("held.jsonl"));
  }
  const std::string split_ = "--set data.valid=null --set data.validation_fraction=0.25";
};

TEST_F(SplitRuns, AreThoseOfTwoFiles) {
  std::vector<double> one;
  for (const int ranks : {1, 2}) {
    const std::string n = std::to_string(ranks), steps = " --set run.steps=3";
    const Outcome hand = train(ranks, "hand" + n, by_hand() + steps);
    const Outcome split = train(ranks, "split" + n, split_ + steps);
    ASSERT_EQ(hand.status, 0) << hand.text;
    ASSERT_EQ(split.status, 0) << split.text;
    EXPECT_THAT(split.text, AllOf(HasSubstr("chats.jsonl, for training: "),
                                  HasSubstr("chats.jsonl, for validation: ")));
    EXPECT_EQ(values("loss", "split" + n), values("loss", "hand" + n));
    const std::vector<double> losses = values("valid_loss", "split" + n);
    EXPECT_EQ(losses, values("valid_loss", "hand" + n));
    ASSERT_EQ(losses.size(), 3U);
    if (ranks == 1) one = losses;
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(losses[i], one[i], 2e-6 * one[i]);
  }
}

TEST_F(SplitRuns, ResumeWithTheBestValidation) {
  const std::string best = split_ + " --set checkpoint.keep_best=true";
  ASSERT_EQ(train(1, "whole", best + " --set run.steps=4").status, 0);
  ASSERT_EQ(train(1, "parts", best + " --set run.steps=2").status, 0);
  const Outcome resumed = train(2, "parts", best + " --set run.steps=4");
  ASSERT_EQ(resumed.status, 0) << resumed.text;
  EXPECT_THAT(resumed.text,
              AllOf(HasSubstr(" is prepared in "), HasSubstr("for validation"),
                    HasSubstr("lowest validation loss "), Not(HasSubstr("resumed with another"))));
  const std::vector<double> whole = values("valid_loss", "whole"),
                            parts = values("valid_loss", "parts");
  ASSERT_EQ(whole.size(), 4U);
  ASSERT_EQ(parts.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(parts[i], whole[i], 2e-6 * whole[i]);
  const Outcome other = train(1, "parts",
                              best +
                                  " --set data.validation_fraction=0.5"
                                  " --set run.steps=5");
  EXPECT_THAT(other.text,
              HasSubstr("resumed with another data.validation_fraction: 0.25 in the checkpoint"));
}

TEST_F(SplitRuns, ArePlannedAndShown) {
  // The buffers count the memory of the process that plans, too.
  const auto memory = [&](const std::string& keys) {
    auto plan = nlohmann::json::parse(
        triax("train " + job() + " --dry-run --json " + keys + " 2>/dev/null").text);
    for (auto& rank : plan.at("ranks")) rank.at("device").erase("buffers");
    return plan;
  };
  EXPECT_EQ(memory(split_), memory(by_hand()));
  const auto shown = [&](const std::string& keys) {
    return nlohmann::json::parse(show("--json --valid --sample 1 " + keys + " 2>/dev/null").text);
  };
  EXPECT_EQ(shown(split_), shown(by_hand()));
  EXPECT_LT(shown(split_).at("samples"), 20);
  EXPECT_THAT(show("--valid --set data.valid=null --set run.eval_interval=0").text,
              HasSubstr("has no validation samples"));
}

TEST_F(ChatRuns, PackedSamplesAreDocuments) {
  // Two samples of 35 tokens fit a row.
  const std::string packed =
      " --set data.packing=true --set data.seq_length=72 --set model.n_positions=128 ";
  const Outcome text = show("--sample 0" + packed);
  EXPECT_EQ(text.status, 0) << text.text;
  EXPECT_THAT(text.text, AllOf(HasSubstr("packed, "), HasSubstr(" rows of 72 tokens are "),
                               HasSubstr("number       id document position\n")));
  const auto json = nlohmann::json::parse(show("--sample 0 --json" + packed + "2>/dev/null").text);
  std::string trained;
  for (const auto& token : json.at("tokens")) {
    if (token.at("trains") != true) continue;
    EXPECT_GT(token.at("position"), 0);
    trained += token.at("text").get<std::string>();
  }
  EXPECT_EQ(trained.substr(0, 28), "it is 0<|end|>it is 1<|end|>");
  const Outcome run = triax("train " + job() + packed + "--set run.steps=1");
  EXPECT_EQ(run.status, 0) << run.text;
  const auto resolved = nlohmann::json::parse(contents(dir_.path("run/job.json")));
  EXPECT_EQ(resolved.at("data").at("documents"), "mask");
  const Outcome joined =
      triax("train " + job() + " --set data.packing=true --set data.documents=join");
  EXPECT_EQ(joined.status, 2);
  EXPECT_THAT(joined.text, HasSubstr("the samples of a row would see each other"));
}

TEST_F(ChatRuns, PairsOfAnswersAreShownAndTrained) {
  std::string lines;
  for (int i = 0; i < 8; ++i)
    lines += R"({"prompt": "number?", "chosen": "it is )" + std::to_string(i) +
             R"(", "rejected": [{"role": "assistant", "content": "no"}]})" + "\n";
  dir_.file("chats.jsonl", lines);
  const std::string pairs = " --set data.format=preference --set loss.type=dpo";
  const Outcome shown = show("--sample 3" + pairs);
  EXPECT_THAT(shown.text, AllOf(HasSubstr("chosen answer of sample 3 (an epoch has 8): "),
                                HasSubstr("rejected answer of sample 3"), HasSubstr("8 pairs, ")));
  const Outcome run = triax("train " + job() + pairs);
  EXPECT_EQ(run.status, 0) << run.text;
  EXPECT_THAT(run.text,
              AllOf(HasSubstr("a sample is a pair, 2 x 48 tokens"),
                    HasSubstr("log-probabilities of the 8 pairs of"), HasSubstr("accuracy")));
  const std::string metrics = contents(dir_.path("run/metrics.jsonl"));
  const auto line = nlohmann::json::parse(metrics.substr(0, metrics.find('\n')));
  EXPECT_NEAR(line.at("loss"), std::log(2.0), 1e-6) << "the model is its own reference";
}

TEST_F(ChatRuns, BadLinesAreNamed) {
  dir_.file("chats.jsonl", "{\"messages\": [{\"role\": \"wizard\", \"content\": \"x\"}]}\n");
  const Outcome outcome = triax("train " + job());
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.text,
              HasSubstr("chats.jsonl:1: the role \"wizard\" is not known. Map it with data.roles"));
}

}  // namespace
}  // namespace triax::test
