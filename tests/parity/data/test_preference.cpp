// SPDX-License-Identifier: Apache-2.0
// Losses of preference data on every grid: the curves of tests/golden/preference, written from
// TRL's source; the reference is computed once, and resumed runs read it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/hdf5/hdf5.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/parity/data/preference_job.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

std::vector<Layout> layouts() {
  switch (world_size()) {
    case 1:
      return {{.micro = 4}, {.micro = 1, .recompute = 9}};
    case 2:
      return {{.tensor = 2, .micro = 2},
              {.tensor = 2, .micro = 1, .sequence_parallel = false},
              {.pipeline = 2, .micro = 1},
              {.pipeline = 2, .schedule = "zero-bubble", .micro = 1},
              {.data = 2, .micro = 1, .zero = 3},
              {.data = 2, .micro = 2, .zero = 1}};
    default:
      return {{.tensor = 2, .pipeline = 2, .micro = 2},
              {.tensor = 2, .data = 2, .micro = 1, .zero = 3, .persistence = 50},
              {.pipeline = 2, .data = 2, .micro = 1, .zero = 2, .recompute = 1}};
  }
}

// Before the first update the model is its own reference: rewards are rounding, and neither is
// greater.
void expect_step(const PairMetrics& found, const nlohmann::json& expected, bool same) {
  EXPECT_NEAR(found.chosen_reward, expected.at("chosen").get<double>(), 2e-5);
  EXPECT_NEAR(found.rejected_reward, expected.at("rejected").get<double>(), 2e-5);
  if (same) return;
  EXPECT_EQ(found.accuracy, expected.at("accuracies").get<double>());
}

void expect_curve(const std::string& name, const Layout& layout) {
  SCOPED_TRACE(name + ": " + layout.text());
  const SharedDirectory directory;
  const auto steps = preference_curve(name).at("steps");
  const auto found =
      train(MPI_COMM_WORLD, preference_job(name, layout, directory.path("run")), preference_steps);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double loss = steps[i].at("loss"), norm = steps[i].at("grad_norm");
    EXPECT_NEAR(found[i].loss, loss, golden_loss_tolerance * loss) << "step " << i;
    EXPECT_NEAR(found[i].grad_norm, norm, golden_norm_tolerance * norm) << "step " << i;
    ASSERT_TRUE(found[i].pairs);
    expect_step(*found[i].pairs, steps[i].at("rewards"), i == 0 && name.starts_with("dpo"));
  }
}

TEST(Preference, HasTheLossesOfTrlOnEveryGrid) {
  for (const Layout& layout : layouts())
    for (const char* name : {"dpo", "orpo", "simpo", "dpo-lora"}) expect_curve(name, layout);
}

class PreferenceRuns : public testing::Test {
 protected:
  nlohmann::json job(const std::string& run, const char* curve = "dpo") const {
    auto made = preference_job(curve, layouts().back(), directory_.path(run));
    made["checkpoint"]["at_end"] = true;
    return made;
  }
  std::vector<std::string> references(const std::string& run) const {
    std::vector<std::string> files;
    std::error_code none;
    for (const auto& file :
         std::filesystem::directory_iterator(directory_.path(run + "/data"), none))
      files.push_back(file.path());
    return files;
  }
  SharedDirectory directory_;
};

TEST_F(PreferenceRuns, ResumeWithTheReferenceOfTheirStart) {
  auto straight = job("run");
  straight["checkpoint"]["interval"] = 2;
  straight["checkpoint"]["keep"] = 0;
  train_to_the_end(straight);
  const auto files = references("run");
  ASSERT_EQ(files.size(), 1U);
  for (const bool removed : {false, true}) {
    auto again = job("run");
    again["checkpoint"]["resume"] = directory_.path("run/checkpoints/step-000002.h5");
    const auto whole = metrics_of(directory_.path("run"));
    MPI_Barrier(MPI_COMM_WORLD);
    if (removed && world_rank() == 0) std::filesystem::remove(files.front());
    MPI_Barrier(MPI_COMM_WORLD);
    train_to_the_end(again);
    EXPECT_EQ(references("run"), files);
    if (world_rank() != 0) continue;
    const auto found = metrics_of(directory_.path("run"));
    expect_resumed({found.begin() + 2, found.end()}, whole, 2, 0.0, 0.0);
  }
}

TEST_F(PreferenceRuns, WriteRewardsAndValidate) {
  auto made = job("run", "orpo");
  made["run"]["steps"] = 1;
  made["run"]["eval_interval"] = 1;
  made["data"]["valid"] = made["data"]["train"];
  made["optimizer"]["params"]["lr"] = 0.0;
  made.erase("scheduler");
  train_to_the_end(made);
  if (world_rank() != 0) return;
  EXPECT_TRUE(references("run").empty()) << "orpo has no reference";
  const auto lines = metrics_of(directory_.path("run"));
  ASSERT_EQ(lines.size(), 2U);
  const auto expected = preference_curve("orpo").at("steps")[0];
  EXPECT_NEAR(lines[0].at("rewards").at("chosen"),
              expected.at("rewards").at("chosen").get<double>(), 1e-5);
  for (const auto& line : lines) {
    const auto& rewards = line.at("rewards");
    EXPECT_DOUBLE_EQ(rewards.at("margins"),
                     rewards.at("chosen").get<double>() - rewards.at("rejected").get<double>());
    EXPECT_NEAR(line.at("logps").at("chosen"), rewards.at("chosen").get<double>() / 0.4, 1e-12);
    EXPECT_GT(line.at("nll_loss").get<double>(), 3.0);
  }
}

// The numbers of the file are one piece of it, and the only one in which this double occurs.
void flip_a_byte_of_the_numbers(const std::string& path) {
  double number = 0.0;
  hdf5::File(path, hdf5::File::Mode::read)
      .read("/log_probs", hdf5::flat_range_boxes({2 * preference_pairs * preference_steps}, 3, 4),
            Tensor(&number, {1}));
  std::string bytes = contents(path);
  const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&number), 8));
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  std::ofstream(path, std::ios::binary) << bytes;
}

// A file of log-probabilities that is cut or has other numbers is made anew.
TEST_F(PreferenceRuns, ADamagedReferenceIsMadeAnew) {
  const auto losses = [&] { return losses_of(train(MPI_COMM_WORLD, job("run"), 2)); };
  const auto expected = losses();
  const auto files = references("run");
  ASSERT_EQ(files.size(), 1U);
  const auto size = std::filesystem::file_size(files.front());
  MPI_Barrier(MPI_COMM_WORLD);
  for (const bool cut : {true, false}) {
    if (world_rank() == 0 && cut) std::filesystem::resize_file(files.front(), 0);
    if (world_rank() == 0 && !cut) flip_a_byte_of_the_numbers(files.front());
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(losses(), expected);
    EXPECT_EQ(references("run"), files);
    EXPECT_EQ(std::filesystem::file_size(files.front()), size);
    MPI_Barrier(MPI_COMM_WORLD);  // before rank 0 damages it again
  }
}

TEST_F(PreferenceRuns, ACheckpointOfAnotherLossIsNoReference) {
  auto first = job("run", "simpo");
  first["run"]["steps"] = 1;
  train_to_the_end(first);
  auto second = job("run");
  second["checkpoint"]["resume"] = directory_.path("run/checkpoints/step-000001.h5");
  EXPECT_THAT(error_of([&] { train_to_the_end(second); }),
              HasSubstr("the checkpoint was trained by loss.type \"simpo\", without a reference"));
}

// The cross-entropy of chosen answers, as ORPO has it.
TEST_F(PreferenceRuns, ChosenAnswersCanBeTrainedBeside) {
  auto made = job("run", "simpo");
  const double alone = train(MPI_COMM_WORLD, made, 1).front().loss;
  made["loss"]["chosen_weight"] = 0.6;
  const StepMetrics both = train(MPI_COMM_WORLD, made, 1).front();
  ASSERT_TRUE(both.pairs && both.pairs->chosen_loss);
  const double expected = alone + 0.6 * *both.pairs->chosen_loss;
  EXPECT_GT(*both.pairs->chosen_loss, 3.0);
  EXPECT_NEAR(both.loss, expected, 1e-6 * expected);
}

// All pairs at once, or in batches: one mean over pairs, one over chosen tokens.
TEST_F(PreferenceRuns, ValidationIsTheLossOfOneGreatBatch) {
  for (const char* curve : {"dpo", "orpo"}) {
    auto made = job(std::string("run-") + curve, curve);
    made["run"]["steps"] = 1;
    made["run"]["eval_interval"] = 1;
    made["data"]["valid"] = made["data"]["train"];
    made["optimizer"]["params"]["lr"] = 0.0;
    made.erase("scheduler");
    train_to_the_end(made);
    auto great = preference_job(
        curve, {.micro = 5},
        directory_.path(std::string("great-") + curve + std::to_string(world_rank())));
    great["train_batch_size"] = 20;
    const double expected = train(MPI_COMM_SELF, great, 1).front().loss;
    if (world_rank() != 0) continue;
    const double found =
        metrics_of(directory_.path(std::string("run-") + curve)).back().at("valid_loss");
    EXPECT_NEAR(found, expected, golden_loss_tolerance * expected) << curve;
  }
}

// Which pairs a step sees, and which reference belongs to them, does not depend on the grid. SGD:
// the first steps of AdamW divide rounding by rounding, and a reference is rounded on its grid.
TEST_F(PreferenceRuns, ShuffledBlendsAreOneCurve) {
  const auto blended = [&](const Layout& layout, const std::string& run) {
    auto made = preference_job("dpo", layout, directory_.path(run));
    const std::string pairs = preference_folder + "pairs.h5";
    made["data"]["train"] = {{{"paths", {pairs}}, {"weight", 0.7}},
                             {{"paths", {pairs}}, {"weight", 0.3}}};
    made["data"]["shuffle"] = true;
    made["optimizer"] = {{"type", "SGD"}, {"params", {{"lr", 0.05}}}};
    return made;
  };
  const auto expected =
      train(MPI_COMM_SELF, blended({.micro = 2}, "alone" + std::to_string(world_rank())), 4);
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.text());
    const auto found = train(MPI_COMM_WORLD, blended(layout, "all"), 4);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].loss, expected[i].loss, golden_loss_tolerance * expected[i].loss) << i;
      EXPECT_NEAR(found[i].grad_norm, expected[i].grad_norm,
                  golden_norm_tolerance * expected[i].grad_norm)
          << i;
    }
  }
}

}  // namespace
}  // namespace triax::test
