// SPDX-License-Identifier: Apache-2.0
// The best checkpoint of a run by its validations, and the end by early stopping.
#include <algorithm>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "tests/support/matchers.hpp"
#include "tests/trainer/spike_job.hpp"

namespace triax::test {
namespace {

class Validation : public testing::Test {
 protected:
  // 16 steps on the letters a to d, validated on letters that the model unlearns: the lowest loss
  // comes early.
  nlohmann::json job(const std::string& run) const {
    auto job = spike_job({.data = world_size(), .micro = 2},
                         shared_file(directory_, "text", spike_text({})), directory_.path(run));
    job["data"]["valid"] = {shared_file(directory_, "valid", spike_text({0, 1}, {}, 2))};
    job["run"].erase("loss_spike");
    job["run"]["eval_interval"] = 2;
    job["run"]["progress"] = "none";
    job["checkpoint"] = {{"interval", 0}, {"keep", 1}, {"keep_best", true}};
    return job;
  }
  std::string path(const std::string& run) const { return directory_.path(run); }
  // Steps and losses of the validations of a run.
  std::vector<std::pair<std::int64_t, double>> validations(const std::string& run) const {
    std::vector<std::pair<std::int64_t, double>> all;
    for (const auto& line : metrics_of(path(run)))
      if (line.contains("valid_loss"))
        all.emplace_back(line["step"].get<std::int64_t>() + 1, line["valid_loss"].get<double>());
    return all;
  }
  std::int64_t best_of(const std::string& run) const {
    const auto all = validations(run);
    return std::ranges::min_element(all, {}, &std::pair<std::int64_t, double>::second)->first;
  }
  // Expects the newest file and the best one; the file before the newest may stay beside them, as
  // no loss has shown yet that the newest is sound.
  void expect_kept(const std::string& run, std::int64_t newest, std::int64_t best) const {
    const auto names = checkpoint_names(path(run));
    ASSERT_FALSE(names.empty());
    EXPECT_EQ(names.front(), name_of(newest));
    EXPECT_THAT(names, testing::Contains(name_of(best)));
    EXPECT_LE(names.size(), 3U);
  }
  static std::string name_of(std::int64_t step) { return fmt::format("step-{:06}.h5", step); }
  SharedDirectory directory_;
};

TEST_F(Validation, TheBestCheckpointIsWrittenAndKept) {
  const std::vector<std::int64_t> intervals =
      world_size() == 1 ? std::vector<std::int64_t>{0, 3} : std::vector<std::int64_t>{3};
  for (const std::int64_t interval : intervals) {  // 3: between the validations
    const std::string run = fmt::format("run-{}", interval);
    auto kept = job(run);
    kept["checkpoint"]["interval"] = interval;
    train_to_the_end(kept);
    const std::int64_t best = best_of(run);
    ASSERT_LT(best, 16) << "the validation loss rises";
    expect_kept(run, 16, best);
  }
}

TEST_F(Validation, TheRunEndsWithoutImprovement) {
  auto early = job("run");
  early["run"]["early_stopping"] = {{"patience", 3}};
  train_to_the_end(early);
  const auto all = validations("run");
  const std::int64_t best = best_of("run"), end = all.back().first;
  ASSERT_LT(end, 16);
  EXPECT_EQ(end, best + 3 * 2);
  expect_kept("run", end, best);
  // The same command has nothing to do, and one with more patience goes on.
  train_to_the_end(early);
  EXPECT_EQ(validations("run"), all);
  early["run"]["early_stopping"] = {{"patience", 4}};
  train_to_the_end(early);
  EXPECT_EQ(validations("run").back().first, end + 2);
  expect_kept("run", end + 2, best);
}

// The checkpoint of a step is older than its validation: the line in metrics.jsonl counts.
TEST_F(Validation, ItsStateSurvivesAResumeAtAnyStep) {
  auto whole = job("whole");
  whole["run"]["early_stopping"] = {{"patience", 3}};
  train_to_the_end(whole);
  const std::int64_t end = validations("whole").back().first;
  const std::vector<std::int64_t> stops =
      world_size() == 1 ? std::vector<std::int64_t>{2, 3} : std::vector<std::int64_t>{2};
  for (const std::int64_t stop : stops) {
    const std::string run = fmt::format("run-{}", stop);
    auto part = job(run);
    part["run"]["early_stopping"] = {{"patience", 3}};
    part["checkpoint"]["interval"] = stop;
    part["checkpoint"]["at_end"] = false;
    part["run"]["steps"] = stop;
    train_to_the_end(part);
    part["checkpoint"]["interval"] = 0;
    part["checkpoint"]["at_end"] = true;
    part["run"]["steps"] = 16;
    train_to_the_end(part);
    EXPECT_EQ(validations(run).back(), validations("whole").back()) << stop;
    expect_kept(run, end, best_of("whole"));
  }
}

}  // namespace
}  // namespace triax::test
