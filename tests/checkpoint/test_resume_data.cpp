// SPDX-License-Identifier: Apache-2.0
#include "src/checkpoint/resume_data.hpp"

#include "src/checkpoint/job_changes.hpp"
#include "src/checkpoint/resume_changes.hpp"
#include "src/data/mixture/source_names.hpp"
#include "tests/data/mixture/mixed_files.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Counts = std::vector<std::int64_t>;

// Sources a of 20 samples, b of 10, c of 5, each of 4 tokens; batches of 8.
class ResumeData : public testing::Test {
 protected:
  ResumeData() {
    job_["data"]["seq_length"] = 4;
    job_["train_batch_size"] = 8;
    job_["run"]["steps"] = 1000;
    set({{a_, 0.75}, {b_, 0.25}});
  }
  void set(const std::vector<std::pair<std::string, nlohmann::json>>& sources) {
    job_["data"]["train"] = nlohmann::json::array();
    for (const auto& [file, weight] : sources)
      job_["data"]["train"].push_back({{"paths", {file}}, {"weight", weight}});
  }
  LoadedJob loaded() const { return load(job_, 1); }
  static TrainingData data(const Config& config) {
    return {config, readers_of(config.data, source_files(config.data))};
  }
  // Header of a checkpoint of the job in its step `step`.
  CheckpointHeader header(std::int64_t step) const {
    const LoadedJob job = loaded();
    const TrainingData data = this->data(job.config);
    CheckpointHeader header;
    header.step = step;
    header.samples = 8 * step;
    header.job = with_data_state(job_for_checkpoint(job.resolved, data.tokens()),
                                 data_state_text(data, header.samples));
    return header;
  }
  DataStart resumed(const CheckpointHeader& header) const {
    const LoadedJob job = loaded();
    return resume_data(header, job, data(job.config));
  }

  TempDirectory directory_;
  std::string a_ = numbered_file(directory_, "a.bin", 20, 4, 0);
  std::string b_ = numbered_file(directory_, "b.bin", 10, 4, 0);
  std::string c_ = numbered_file(directory_, "c.bin", 5, 4, 0);
  nlohmann::json job_ = golden_job(read_golden("gpt2-tiny"), {.micro = 1});
};

TEST_F(ResumeData, TheSameJobGoesOn) {
  set({{a_, {{{"until_step", 3}, {"weight", 0.5}}, {{"weight", 3}}}}, {b_, 1}});
  const LoadedJob job = loaded();
  const TrainingData straight = data(job.config);
  for (const std::int64_t step : {1, 3, 5}) {
    const DataStart start = resumed(header(step));
    EXPECT_THAT(start.changes, IsEmpty());
    EXPECT_EQ(start.sample, 8 * step);
    ASSERT_TRUE(start.state);
    EXPECT_EQ(*start.state, straight.state_at(8 * step));
  }
  EXPECT_THAT(job_changes(header(1).job, job.resolved), IsEmpty());
}

TEST_F(ResumeData, OtherWeightsBeginWithTheCountsAsTheyAre) {
  const CheckpointHeader before = header(10);
  set({{a_, 0.5}, {b_, 0.5}});
  const DataStart start = resumed(before);
  EXPECT_EQ(start.sample, 80);
  EXPECT_EQ(*start.state, (BlendState{{{80, {1, 1}}}, {60, 20}, {0, 1}, 80, {60, 20}}));
  EXPECT_THAT(start.changes,
              ElementsAre("resumed with other weights of data.train, from sample 80 on: a.bin goes "
                          "on behind 60 samples (3 epochs); b.bin goes on behind 20 samples (2 "
                          "epochs)"));
  EXPECT_THAT(job_changes(before.job, loaded().resolved), IsEmpty());
}

TEST_F(ResumeData, OtherWeightsOfStepsToComeChangeNoSampleBefore) {
  const CheckpointHeader before = header(10);
  set({{a_, {{{"until_step", 12}, {"weight", 3}}, {{"weight", 1}}}}, {b_, 1}});
  EXPECT_THAT(resumed(before).state->phases,
              ElementsAre(BlendPhase{80, {3, 1}}, BlendPhase{96, {2, 2}}));
}

TEST_F(ResumeData, ALargerBatchGoesOnAtTheNextSample) {
  const CheckpointHeader before = header(10);
  job_["train_batch_size"] = 32;
  const DataStart start = resumed(before);
  EXPECT_THAT(start.changes, IsEmpty());
  EXPECT_EQ(start.state->phases, (std::vector<BlendPhase>{{0, {3, 1}}}));
  set({{a_, {{{"until_step", 12}, {"weight", 3}}, {{"weight", 1}}}}, {b_, 1}});
  EXPECT_THAT(resumed(before).state->phases,
              ElementsAre(BlendPhase{80, {3, 1}}, BlendPhase{144, {2, 2}}));
}

TEST_F(ResumeData, OtherSourcesCarryOverByTheirFiles) {
  const CheckpointHeader before = header(10);
  set({{c_, 1}, {a_, 1}});
  const DataStart start = resumed(before);
  EXPECT_EQ(*start.state, (BlendState{{{80, {1, 1}}}, {0, 60}, {2, 0}, 80, {0, 60}}));
  EXPECT_THAT(start.changes,
              ElementsAre(AllOf(HasSubstr("other sources of data.train, from sample 80 on: c.bin "
                                          "begins anew; a.bin goes on behind 60 samples"),
                                HasSubstr("b.bin is left out after 20 samples"))));
}

TEST_F(ResumeData, OneSourceBecomesTwo) {
  job_["data"]["train"] = {a_};
  CheckpointHeader before = header(4);
  EXPECT_FALSE(nlohmann::json::parse(before.job)["triax"].contains("data_state"));
  EXPECT_FALSE(resumed(before).state);
  set({{b_, 1}, {a_, 1}});
  const DataStart start = resumed(before);
  EXPECT_EQ(*start.state, (BlendState{{{32, {1, 1}}}, {0, 32}, {1, 0}, 32, {0, 32}}));
  EXPECT_THAT(start.changes, ElementsAre(HasSubstr("b.bin begins anew; a.bin goes on behind 32")));
}

TEST_F(ResumeData, TwoSourcesBecomeOne) {
  const CheckpointHeader before = header(10);
  job_["data"]["train"] = {b_};
  const DataStart start = resumed(before);
  const BlendState expected{{{80, {1}}}, {20}, {1}, 80, {20}};
  EXPECT_EQ(*start.state, expected);
  const LoadedJob job = loaded();
  TrainingData one = data(job.config);
  one.set_state(*start.state);
  CheckpointHeader later = before;
  later.samples = 100;
  later.job =
      with_data_state(job_for_checkpoint(job.resolved, one.tokens()), data_state_text(one, 100));
  EXPECT_EQ(resumed(later).state->used, (Counts{40}));
  EXPECT_THAT(resumed(later).changes, IsEmpty());
}

TEST_F(ResumeData, SamplesOfAnotherLengthGoOnBehindWhatWasSeen) {
  const CheckpointHeader before = header(10);
  job_["data"]["seq_length"] = 2;
  const DataStart start = resumed(before);
  EXPECT_EQ(start.state->used, (Counts{120, 40}));
  EXPECT_EQ(start.sample, 160);
  EXPECT_THAT(start.changes, testing::SizeIs(1));
}

TEST_F(ResumeData, NamesASourceThatGrew) {
  const CheckpointHeader before = header(10);
  numbered_file(directory_, "b.bin", 12, 4, 0);
  EXPECT_THAT(resumed(before).changes,
              ElementsAre(HasSubstr("b.bin has 49 tokens now and had 41 in the checkpoint")));
}

TEST_F(ResumeData, ACheckpointWithoutAJobBeginsAtTheFirstSample) {
  CheckpointHeader imported;
  const DataStart start = resumed(imported);
  EXPECT_THAT(start.changes, IsEmpty());
  const LoadedJob job = loaded();
  EXPECT_EQ(*start.state, first_state(job.config.data, 8));
}

TEST_F(ResumeData, RefusesADamagedState) {
  CheckpointHeader damaged = header(10);
  auto job = nlohmann::json::parse(damaged.job);
  job["triax"]["data_state"].erase("used");
  damaged.job = job.dump();
  EXPECT_THAT(error_of([&] { (void)resumed(damaged); }),
              HasSubstr("does not say what its run used of each source"));
  job["triax"]["data_state"]["used"] = {1, 2, 3};
  damaged.job = job.dump();
  EXPECT_THAT(error_of([&] { (void)resumed(damaged); }), HasSubstr("does not say"));
}

}  // namespace
}  // namespace triax::test
