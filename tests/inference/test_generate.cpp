// SPDX-License-Identifier: Apache-2.0
#include "src/inference/generate.hpp"

#include <algorithm>
#include <cmath>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/inference/model_files.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

// Checkpoint of a golden case's initial weights, and the loss of its first sample.
class GeneratorTest : public testing::TestWithParam<std::string> {
 protected:
  GeneratorTest() : golden_(read_golden(GetParam())) {
    auto job = golden_job(golden_, {.micro = 1});
    job["run"] = {{"directory", directory_.path("run")}, {"steps", 1}, {"progress", "none"}};
    job["checkpoint"]["at_end"] = true;
    job["train_batch_size"] = 1;
    job["optimizer"]["params"]["lr"] = 0.0;
    job.erase("scheduler");
    const LoadedJob loaded = load(job, 1);
    ProcessGrid grid = make_grid(MPI_COMM_WORLD, loaded.config);
    Trainer(loaded, grid).run();
    loss_ = nlohmann::json::parse(contents(directory_.path("run/metrics.jsonl")))["loss"];
  }
  Generator generator(std::int64_t context) const {
    return {CheckpointReader(directory_.path("run/checkpoints/step-000001.h5")), context};
  }
  std::vector<std::int32_t> first_sample() const {
    std::vector<std::int32_t> sample(static_cast<std::size_t>(golden_.sequence_length) + 1);
    TokenReader({golden_.directory + "/tokens.bin"}, golden_.sequence_length, false, 0)
        .sample(0, sample);
    return sample;
  }

  TempDirectory directory_;
  GoldenCase golden_;
  double loss_ = 0.0;
};

TEST(TrainedLength, IsTheJobsUnlessItsWeightsAreOfAnother) {
  const auto of = [](const std::string& job) {
    CheckpointHeader header;
    header.job = job;
    header.model = huggingface_config({});
    return trained_length(header);
  };
  EXPECT_EQ(of(R"({"model": {"from": null}, "data": {"seq_length": 8}})"), 8);
  EXPECT_EQ(of(R"({"model": {"from": "hf"}, "data": {"seq_length": 8}})"), 1024);
  EXPECT_EQ(of("{}"), 1024) << "as one that was imported";
  EXPECT_EQ(of("none of triax"), 1024);
}

TEST(TrainedLength, IsWithoutLimitForRotaryPositionsThatStretchThemselves) {
  CheckpointHeader header;
  ModelConfig model;
  model.architecture = "llama";
  model.rope_scaling = {"dynamic", 2.0};
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = false;
  header.job = R"({"model": {"from": null}, "data": {"seq_length": 8}})";
  header.model = huggingface_config(model);
  EXPECT_GT(trained_length(header), 1'000'000);
}

// The mean of -log softmax(logits)[next token] over a sample is the training loss.
TEST_P(GeneratorTest, LogitsAreThoseOfTraining) {
  Generator model = generator(golden_.sequence_length);
  const auto sample = first_sample();
  double loss = 0.0;
  for (std::size_t n = 1; n < sample.size(); ++n) {
    const std::vector<float>& logits =
        model.logits({sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(n)});
    double sum = 0.0;
    for (const double logit : logits) sum += std::exp(logit);
    loss += std::log(sum) - logits[static_cast<std::size_t>(sample[n])];
  }
  EXPECT_NEAR(loss / golden_.sequence_length, loss_, 2e-6 * loss_);
}

// Compares element by element, relative to the largest logit.
void expect_same_logits(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  float largest = 0.0F;
  for (const float logit : expected) largest = std::max(largest, std::abs(logit));
  for (std::size_t v = 0; v < expected.size(); ++v)
    ASSERT_NEAR(found[v], expected[v], 1e-5F * largest) << "token " << v;
}

TEST_P(GeneratorTest, TokenByTokenIsTheWholeText) {
  const std::int64_t context = golden_.sequence_length;
  Generator whole = generator(context), kept = generator(context);
  const auto sample = first_sample();
  for (const std::int64_t prompt : {std::int64_t{1}, std::int64_t{5}, context - 1, context}) {
    SCOPED_TRACE(fmt::format("a prompt of {}", prompt));
    std::vector<std::int32_t> text(sample.begin(), sample.begin() + prompt);
    EXPECT_EQ(kept.logits(text), whole.logits(text)) << "whatever was there before";
    while (std::ssize(text) < context) {
      text.push_back(sample[text.size()]);
      const std::vector<float>& found = kept.logits_after(text.back());
      expect_same_logits(found, whole.logits(text));
    }
  }
}

TEST_P(GeneratorTest, AFullContextMovesOn) {
  Generator whole = generator(4), kept = generator(4);
  kept.logits({1, 2, 3});
  kept.logits_after(4);
  EXPECT_EQ(kept.logits_after(5), whole.logits({2, 3, 4, 5}));
  EXPECT_EQ(kept.logits_after(6), whole.logits({3, 4, 5, 6}));
}

std::int32_t likeliest(const std::vector<float>& logits) {
  return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}

TEST_P(GeneratorTest, GreedyTextIsThatOfWholeTexts) {
  Generator whole = generator(12), kept = generator(12);
  std::vector<std::int32_t> text = {3, 1, 4};
  std::int32_t found = likeliest(kept.logits(text));
  for (int i = 0; i < 14; ++i) {
    const std::int32_t expected = likeliest(whole.logits(text));
    ASSERT_EQ(found, expected) << "token " << i;
    if (std::ssize(text) == whole.context()) text.erase(text.begin());
    text.push_back(expected);
    found = likeliest(kept.logits_after(expected));
  }
}

TEST_P(GeneratorTest, ATokenFollowsAText) {
  Generator model = generator(4);
  EXPECT_THROW(model.logits_after(1), Error);
}

TEST_P(GeneratorTest, ContextIsAtMostTheModels) {
  Generator model = generator(100000);
  EXPECT_EQ(model.context(), model.model().positions);
}

INSTANTIATE_TEST_SUITE_P(Architectures, GeneratorTest,
                         testing::Values("gpt2-odd", "llama-odd", "llama-scaled", "llama-biased",
                                         "llama-yarn", "qwen2-odd", "gemma2", "gemma3", "granite",
                                         "olmo3", "smollm3", "pythia"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace triax::test
