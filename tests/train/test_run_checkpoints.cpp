// However a run writes its checkpoints, they are the same, and so is the run.
#include <filesystem>

#include "io/checkpoint_diff.hpp"
#include "io/checkpoint_verify.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;

Layout layout() {
  if (world_size() == 4) return {.tensor = 2, .data = 2, .micro = 2, .zero = 1};
  if (world_size() == 2) return {.data = 2, .micro = 2, .zero = 2};
  return {.micro = 2};
}

nlohmann::json job_in(const std::string& directory, bool bf16) {
  auto job = golden_job(read_golden("gpt2-tiny"), layout());
  if (bf16) job["bf16"] = {{"enabled", true}};
  job["run"]["directory"] = directory;
  job["run"]["steps"] = 6;
  job["checkpoint"] = {{"resume", "never"}, {"interval", 2}, {"keep", 0}};
  return job;
}

std::vector<std::string> checkpoints_of(const std::string& directory) {
  std::vector<std::string> names;
  for (const std::string& path : list_checkpoints(directory + "/checkpoints"))
    names.push_back(std::filesystem::path(path).filename());
  return names;
}

TEST(RunCheckpoints, AreTheSameHoweverTheyAreWritten) {
  const bool bf16 = world_size() == 2;
  const SharedDirectory directory;
  const auto run = [&](const std::string& name, const nlohmann::json& settings) {
    auto job = job_in(directory.path(name), bf16);
    job["checkpoint"].update(settings);
    train_to_the_end(job);
    return directory.path(name);
  };
  const std::string direct = run("direct", {{"async", false}});
  ASSERT_THAT(checkpoints_of(direct),
              ElementsAre("step-000006.h5", "step-000004.h5", "step-000002.h5"));
  const std::vector<std::pair<std::string, nlohmann::json>> others = {
      {"async", {{"async", true}}},
      {"parts", {{"async", true}, {"files", 3}}},
      {"collective", {{"collective", true}}}};
  for (const auto& [name, settings] : others) {
    SCOPED_TRACE(name);
    const std::string other = run(name, settings);
    expect_resumed(metrics_of(other), metrics_of(direct), 0, 0.0, 0.0);
    EXPECT_EQ(checkpoints_of(other), checkpoints_of(direct));
    for (const std::string& file : checkpoints_of(direct)) {
      const std::string path = other + "/checkpoints/" + file;
      EXPECT_TRUE(verify_checkpoint(path, MPI_COMM_WORLD).damaged.empty());
      EXPECT_FALSE(
          diff_checkpoints(path, direct + "/checkpoints/" + file, false, MPI_COMM_WORLD).tensors);
    }
  }
}

// A file that is still being written when the next is due is waited for; so is the last.
TEST(RunCheckpoints, OneEachStepInTheBackgroundIsPossible) {
  const SharedDirectory directory;
  auto job = job_in(directory.path("run"), false);
  job["checkpoint"].update({{"async", true}, {"interval", 1}, {"at_end", false}});
  train_to_the_end(job);
  EXPECT_EQ(checkpoints_of(directory.path("run")).size(), 5U);
}

TEST(RunCheckpoints, ACopyIsMadeWhereTheJobLeavesItOpen) {
  const SharedDirectory directory;
  const auto allocated = [&](const nlohmann::json& settings) {
    auto job = job_in(directory.path("run"), false);
    job["checkpoint"].update(settings);
    const LoadedJob loaded = load(job, world_size());
    ProcessGrid grid = make_grid(MPI_COMM_WORLD, loaded.config);
    return Trainer(loaded, grid).allocations().snapshot;
  };
  EXPECT_GT(allocated(nlohmann::json::object()), 0);
  EXPECT_EQ(allocated({{"async", false}}), 0);
  EXPECT_EQ(allocated({{"interval", 0}}), 0);
  EXPECT_EQ(allocated({{"collective", true}}), 0);
}

}  // namespace
}  // namespace triax::test
