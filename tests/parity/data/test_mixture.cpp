// SPDX-License-Identifier: Apache-2.0
// Training on blended sources: the same samples on every grid and across resumes.
#include <filesystem>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

constexpr int length = 16, batch = 8;  // tokens, samples

std::vector<Layout> layouts() {
  switch (world_size()) {
    case 1:
      return {{.micro = 2}, {.micro = 8}};
    case 2:
      return {{.data = 2, .micro = 2, .zero = 1},
              {.pipeline = 2, .micro = 2},
              {.tensor = 2, .micro = 4}};
    default:
      return {{.data = 4, .micro = 1, .zero = 3},
              {.pipeline = 2, .data = 2, .micro = 2},
              {.tensor = 2, .data = 2, .micro = 4}};
  }
}

// `samples` samples of a source. Each begins with the same letter, so that the labels of one do not
// depend on the next.
std::vector<std::string> samples_of(int samples, const std::string& letters, std::uint32_t seed) {
  std::vector<std::string> all;
  for (int sample = 0; sample < samples; ++sample) {
    std::string text = "x";
    while (text.size() < length) {
      seed = seed * 1664525 + 1013904223;
      text += letters[(seed >> 16) % letters.size()];
    }
    all.push_back(std::move(text));
  }
  return all;
}

std::string text_of(const std::vector<std::string>& samples) {
  std::string text;
  for (const std::string& sample : samples) text += sample;
  return text + "x";
}

class Mixture : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    if (world_rank() == 0) std::ofstream(directory_.path(name)) << text;
    MPI_Barrier(MPI_COMM_WORLD);
    return directory_.path(name);
  }
  nlohmann::json job(const Layout& layout, const std::string& name) const {
    auto job = golden_job(read_golden("gpt2-tiny"), layout);
    job["model"] = {{"architecture", "gpt2"}, {"n_layer", 4},          {"n_head", 4},
                    {"n_embd", 32},           {"n_positions", length}, {"vocab_size", 256}};
    job["data"] = {{"train", sources(3, 1)}, {"seq_length", length}, {"shuffle", true}};
    job["train_batch_size"] = batch;
    job["run"]["steps"] = 8;
    job["run"]["directory"] = directory_.path(name);
    job["checkpoint"] = {{"resume", "never"}, {"interval", 4}, {"keep", 0}};
    return job;
  }
  nlohmann::json sources(const nlohmann::json& a, const nlohmann::json& b) const {
    return {{{"paths", {a_}}, {"weight", a}}, {{"paths", {b_}}, {"weight", b}}};
  }
  std::vector<nlohmann::json> lines(const nlohmann::json& job) const {
    train_to_the_end(job);
    return metrics_of(job["run"]["directory"]);
  }
  std::string checkpoint(const std::string& name, std::int64_t step) const {
    return checkpoint_path(directory_.path(name) + "/checkpoints", step);
  }
  std::vector<std::int64_t> used(const std::string& name, std::int64_t step) const {
    return nlohmann::json::parse(
        CheckpointReader(checkpoint(name, step)).header().job)["triax"]["data_state"]["used"];
  }

  SharedDirectory directory_;
  std::vector<std::string> of_a_ = samples_of(23, "abcd", 1), of_b_ = samples_of(9, "efgh", 2);
  std::string a_ = file("a.txt", text_of(of_a_)), b_ = file("b.txt", text_of(of_b_));
};

// Weights 3 and 1 take a, a, a, b.
TEST_F(Mixture, IsTheTextOfItsBlendedSamples) {
  std::vector<std::string> blended;
  std::size_t a = 0, b = 0;
  for (int sample = 0; sample < 8 * batch; ++sample)
    blended.push_back(sample % 4 == 3 ? of_b_[b++ % of_b_.size()] : of_a_[a++ % of_a_.size()]);
  const std::string text = file("blended.txt", text_of(blended));
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.text());
    auto mixed = job(layout, "mixed");
    mixed["data"]["shuffle"] = false;
    auto one = mixed;
    one["run"]["directory"] = directory_.path("one");
    one["data"]["train"] = {text};
    const auto found = lines(mixed);
    ASSERT_EQ(found.size(), 8U);
    expect_resumed(found, lines(one), 0, 0.0, 0.0);
  }
}

TEST_F(Mixture, ShuffledHasTheLossesOfEveryOtherGrid) {
  const SubCommunicator alone(1);
  auto reference = job({.micro = 4}, "unused");
  reference["data"]["train"] =
      sources({{{"until_step", 3}, {"weight", 0.3}}, {{"weight", 0.9}}}, 0.3);
  const auto expected = train(alone.mpi(), reference, 8);
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.text());
    auto job = this->job(layout, "unused");
    job["data"]["train"] = reference["data"]["train"];
    const auto found = train(MPI_COMM_WORLD, job, 8);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t step = 0; step < found.size(); ++step)
      EXPECT_NEAR(found[step].loss, expected[step].loss, 5e-6 * expected[step].loss) << step;
  }
}

TEST_F(Mixture, HasEpochsInTheMetricsAndCountsInCheckpoints) {
  const auto found = lines(job(layouts().front(), "run"));
  ASSERT_EQ(found.size(), 8U);
  for (std::size_t step = 0; step < 8; ++step) {
    const auto steps = static_cast<double>(step + 1);
    EXPECT_EQ(found[step]["epochs"],
              (nlohmann::json{{"a.txt", 6 * steps / 23}, {"b.txt", 2 * steps / 9}}));
  }
  EXPECT_EQ(used("run", 4), (std::vector<std::int64_t>{24, 8}));
  EXPECT_EQ(used("run", 8), (std::vector<std::int64_t>{48, 16}));
}

TEST_F(Mixture, ResumesOnEveryGrid) {
  const nlohmann::json weights = sources({{{"until_step", 2}, {"weight", 0.3}},
                                          {{"until_step", 6}, {"weight", 0.9}},
                                          {{"weight", 0.6}}},
                                         0.31);
  auto whole = job(layouts().front(), "straight");
  whole["data"]["train"] = weights;
  const auto straight = lines(whole);
  int number = 0;
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.text());
    auto resumed = job(layout, "resumed-" + std::to_string(number));
    resumed["data"]["train"] = weights;
    resumed["checkpoint"]["resume"] = checkpoint("straight", 4);
    const double tolerance = number++ == 0 ? 0.0 : 1e-5;
    const auto found = lines(resumed);
    expect_resumed(found, straight, 4, tolerance, tolerance);
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(found[i]["epochs"], straight[4 + i]["epochs"]);
  }
}

TEST_F(Mixture, OtherWeightsGoOnBehindWhatWasUsed) {
  auto first = job(layouts().front(), "first");
  first["run"]["steps"] = 4;
  train_to_the_end(first);
  auto second = job(layouts().back(), "second");
  second["data"]["train"] = sources(1, 3);
  second["checkpoint"]["resume"] = checkpoint("first", 4);
  const auto found = lines(second);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0]["epochs"], (nlohmann::json{{"a.txt", 26.0 / 23}, {"b.txt", 14.0 / 9}}));
  EXPECT_EQ(used("second", 8), (std::vector<std::int64_t>{32, 32}));
  // The resumed run is resumed: its blend began at sample 32.
  second["run"]["steps"] = 10;
  second["checkpoint"]["resume"] = "must";
  train_to_the_end(second);
  EXPECT_EQ(used("second", 10), (std::vector<std::int64_t>{36, 44}));
}

// With learning rate 0, a step of twice the batch sees the samples of two steps.
TEST_F(Mixture, ALargerBatchGoesOnAtTheNextSample) {
  auto whole = job(layouts().front(), "whole");
  whole["optimizer"]["params"]["lr"] = 0.0;
  whole.erase("scheduler");
  const auto straight = lines(whole);
  auto larger = job(layouts().back(), "larger");
  larger["optimizer"]["params"]["lr"] = 0.0;
  larger.erase("scheduler");
  larger["train_batch_size"] = 2 * batch;
  larger["run"]["steps"] = 6;
  larger["checkpoint"]["resume"] = checkpoint("whole", 4);
  const auto found = lines(larger);
  ASSERT_EQ(found.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const double expected =
        (straight[4 + 2 * i]["loss"].get<double>() + straight[5 + 2 * i]["loss"].get<double>()) / 2;
    EXPECT_NEAR(found[i]["loss"], expected, 5e-6 * expected);
    EXPECT_EQ(found[i]["epochs"], straight[5 + 2 * i]["epochs"]);
  }
}

TEST_F(Mixture, GoesOnFromARunOfOneSource) {
  auto one = job(layouts().front(), "one");
  one["data"]["train"] = {a_};
  one["run"]["steps"] = 4;
  const auto before = lines(one);
  EXPECT_FALSE(before.back().contains("epochs"));
  auto mixed = job(layouts().back(), "mixed");
  mixed["checkpoint"]["resume"] = checkpoint("one", 4);
  const auto found = lines(mixed);
  EXPECT_EQ(found.back()["epochs"], (nlohmann::json{{"a.txt", 56.0 / 23}, {"b.txt", 8.0 / 9}}));
}

// The spike is that of step 9, in which a's samples are of other letters. The samples between the
// checkpoint of step 8 and the spike count as used.
TEST_F(Mixture, RollsBackToARunWithoutTheSamplesBetween) {
  auto a = samples_of(120, "abcd", 1), b = samples_of(40, "efgh", 2);
  const auto strange = samples_of(6, "\x80\x91\xa7\xb3", 3);
  std::ranges::copy(strange, a.begin() + 54);
  auto spiky = job(layouts().front(), "spiky");
  const auto take = [&](const std::string& name) {
    spiky["data"]["train"] = {{{"paths", {file(name + "-a.txt", text_of(a))}}, {"weight", 3}},
                              {{"paths", {file(name + "-b.txt", text_of(b))}}, {"weight", 1}}};
    spiky["run"]["directory"] = directory_.path(name);
    return lines(spiky);
  };
  spiky["data"]["shuffle"] = false;
  spiky["optimizer"]["params"]["lr"] = 0.02;
  spiky.erase("scheduler");
  spiky["run"]["steps"] = 16;
  spiky["run"]["loss_spike"] = {{"factor", 1.5}, {"window", 6}, {"action", "rollback"}};
  auto found = take("spiky");
  ASSERT_EQ(std::erase_if(found, [](const auto& line) { return line.contains("event"); }), 1U);
  EXPECT_EQ(used("spiky", 12), (std::vector<std::int64_t>{84, 28}));
  a.erase(a.begin() + 48, a.begin() + 60);
  b.erase(b.begin() + 16, b.begin() + 20);
  expect_resumed(found, take("without"), 0, 0.0, 0.0);
  EXPECT_EQ(used("without", 12), (std::vector<std::int64_t>{72, 24}));
}

}  // namespace
}  // namespace triax::test
