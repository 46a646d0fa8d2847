// SPDX-License-Identifier: Apache-2.0
// A stopped and resumed run equals an uninterrupted one: bit for bit on the same grid, up to
// rounding on others.
#include <cmath>
#include <filesystem>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// One grid per number of ranks; others are used to resume.
Layout own_layout() {
  if (world_size() == 4) return {.tensor = 2, .data = 2, .micro = 2, .zero = 1};
  if (world_size() == 2) return {.pipeline = 2, .micro = 2};
  return {.micro = 2, .recompute = 1};
}

std::vector<Layout> other_layouts() {
  if (world_size() == 4) return {{.pipeline = 2, .data = 2, .micro = 1}, {.tensor = 4, .micro = 4}};
  if (world_size() == 2)
    return {{.tensor = 2, .micro = 4},
            {.data = 2, .micro = 1, .zero = 1},
            {.pipeline = 2, .schedule = "interleaved", .chunks = 2, .micro = 2}};
  return {{.micro = 4}};
}

// A job of ten steps with everything that depends on the position: shuffled samples, dropout, a
// changing learning rate.
nlohmann::json resumable_job(const std::string& directory, const Layout& layout) {
  auto job = golden_job(read_golden("gpt2-tiny"), layout);
  job["run"]["directory"] = directory;
  job["run"]["steps"] = 10;
  job["data"]["shuffle"] = true;
  add_dropout(job);
  job["checkpoint"] = {{"resume", "never"}, {"interval", 5}, {"keep", 0}};
  return job;
}

// Compares steps [begin, 10) of two runs; tolerance 0: bit for bit.
void expect_steps(const std::vector<nlohmann::json>& found,
                  const std::vector<nlohmann::json>& straight, std::size_t begin,
                  double tolerance) {
  ASSERT_EQ(straight.size(), 10U);
  expect_resumed(found, straight, begin, tolerance, tolerance);
}

TEST(Resume, OnTheSameGridNoBitDiffers) {
  const SharedDirectory directory;
  auto job = resumable_job(directory.path("straight"), own_layout());
  train_to_the_end(job);
  job["run"]["directory"] = directory.path("resumed");
  job["checkpoint"]["resume"] = directory.path("straight/checkpoints/step-000005.h5");
  train_to_the_end(job);
  expect_steps(metrics_of(directory.path("resumed")), metrics_of(directory.path("straight")), 5,
               0.0);
}

TEST(Resume, OnOtherGridsOnlyRoundingDiffers) {
  const SharedDirectory directory;
  train_to_the_end(resumable_job(directory.path("straight"), own_layout()));
  int number = 0;
  for (const Layout& layout : other_layouts()) {
    SCOPED_TRACE(layout.text());
    const std::string other = directory.path("other-" + std::to_string(number++));
    auto job = resumable_job(other, layout);
    job["checkpoint"]["resume"] = directory.path("straight/checkpoints/step-000005.h5");
    train_to_the_end(job);
    expect_steps(metrics_of(other), metrics_of(directory.path("straight")), 5, 1e-5);
  }
}

TEST(Resume, InPlaceAppendsAndRepeatsNoStep) {
  const SharedDirectory directory;
  const auto job = resumable_job(directory.path("straight"), own_layout());
  train_to_the_end(job);
  auto interrupted = job;
  interrupted["run"]["directory"] = directory.path("interrupted");
  interrupted["checkpoint"]["resume"] = "auto";
  train_to_the_end(interrupted);
  // The state after a crash in step 9: the newest checkpoint is of step 5, metrics go further.
  if (world_rank() == 0) {
    std::filesystem::remove(directory.path("interrupted/checkpoints/step-000010.h5"));
    const auto lines = metrics_of(directory.path("interrupted"));
    std::ofstream file(directory.path("interrupted/metrics.jsonl"));
    for (std::size_t i = 0; i < 8; ++i) file << lines[i].dump() << '\n';
    file << "{\"step\": 8, \"lo";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  train_to_the_end(interrupted);
  expect_steps(metrics_of(directory.path("interrupted")), metrics_of(directory.path("straight")), 0,
               0.0);
}

TEST(Resume, AFinishedRunIsLeftAsItIs) {
  const SharedDirectory directory;
  auto job = resumable_job(directory.path("run"), own_layout());
  job["checkpoint"]["resume"] = "auto";
  train_to_the_end(job);
  const std::string before = contents(directory.path("run/metrics.jsonl"));
  train_to_the_end(job);
  EXPECT_EQ(contents(directory.path("run/metrics.jsonl")), before);
}

TEST(Resume, KeepsTheNewestCheckpoints) {
  const SharedDirectory directory;
  auto job = resumable_job(directory.path("run"), own_layout());
  job["checkpoint"] = {{"resume", "never"}, {"interval", 3}, {"keep", 2}};
  train_to_the_end(job);
  EXPECT_EQ(list_checkpoints(directory.path("run/checkpoints")),
            (std::vector<std::string>{directory.path("run/checkpoints/step-000010.h5"),
                                      directory.path("run/checkpoints/step-000009.h5")}));
}

TEST(Resume, SaysWhatIsMissing) {
  const SharedDirectory directory;
  auto job = resumable_job(directory.path("run"), own_layout());
  job["checkpoint"]["resume"] = "must";
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }),
              AllOf(HasSubstr("\"must\""), HasSubstr("run/checkpoints")));
  job["checkpoint"]["resume"] = directory.path("absent.h5");
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }), HasSubstr("absent.h5"));
}

TEST(Resume, NeverStartsAnew) {
  const SharedDirectory directory;
  auto job = resumable_job(directory.path("run"), own_layout());
  train_to_the_end(job);
  const auto first = metrics_of(directory.path("run"));
  train_to_the_end(job);
  expect_steps(metrics_of(directory.path("run")), first, 0, 0.0);
}

// Later checkpoints of an abandoned run are neither resumed nor counted, and not deleted.
TEST(Resume, AnAbandonedBranchIsSetAside) {
  const SharedDirectory directory;
  auto job = resumable_job(directory.path("run"), own_layout());
  job["checkpoint"] = {{"resume", "never"}, {"interval", 3}, {"keep", 0}};
  train_to_the_end(job);
  job["checkpoint"] = {{"resume", directory.path("run/checkpoints/step-000006.h5")},
                       {"at_end", false}};
  job["run"]["steps"] = 8;
  train_to_the_end(job);
  const auto path = [&](const char* name) {
    return directory.path(std::string("run/checkpoints/") + name);
  };
  EXPECT_EQ(list_checkpoints(directory.path("run/checkpoints")),
            (std::vector<std::string>{path("step-000006.h5"), path("step-000003.h5")}));
  EXPECT_TRUE(std::filesystem::exists(path("step-000010.h5.superseded")));
}

TEST(Resume, HintsForStripesChangeNoBit) {
  const SharedDirectory directory;
  auto job = resumable_job(directory.path("straight"), own_layout());
  train_to_the_end(job);
  job["run"]["directory"] = directory.path("striped");
  job["run"]["steps"] = 5;
  job["checkpoint"]["striping_factor"] = 4;
  job["checkpoint"]["striping_unit"] = 1 << 20;
  train_to_the_end(job);
  job["run"]["steps"] = 10;
  job["checkpoint"]["resume"] = "must";
  train_to_the_end(job);
  expect_steps(metrics_of(directory.path("striped")), metrics_of(directory.path("straight")), 0,
               0.0);
}

// With learning rate 0, two steps of half the batch see the samples of one step of the whole batch.
TEST(Resume, AnotherBatchSizeGoesOnAtTheNextSample) {
  const SharedDirectory directory;
  auto job = resumable_job(directory.path("run"), own_layout());
  for (const char* place : {"resid_pdrop", "embd_pdrop", "attn_pdrop"}) job["model"].erase(place);
  train_to_the_end(job);
  const auto straight = metrics_of(directory.path("run"));
  job["run"] = {{"directory", directory.path("half")}, {"steps", 7}, {"progress", "none"}};
  job["checkpoint"]["resume"] = directory.path("run/checkpoints/step-000005.h5");
  job["train_batch_size"] = 4;
  job["train_micro_batch_size_per_gpu"] = 1;
  job.erase("scheduler");
  job["optimizer"]["params"]["lr"] = 0.0;
  train_to_the_end(job);
  const auto half = metrics_of(directory.path("half"));
  ASSERT_EQ(half.size(), 2U);
  const double expected = straight[5]["loss"];
  EXPECT_NEAR((half[0]["loss"].get<double>() + half[1]["loss"].get<double>()) / 2, expected,
              2e-6 * expected);
  EXPECT_EQ(half[1]["step"], 6);
  EXPECT_EQ(half[1]["tokens"], straight[5]["tokens"]);
}

// 5 steps of 8 samples are 40 samples, or 80 of half the length; a step adds 8.
TEST(Resume, AnotherSequenceLengthGoesOnAtTheNextToken) {
  const SharedDirectory directory;
  auto job = resumable_job(directory.path("run"), own_layout());
  job["data"]["shuffle"] = false;
  job["run"]["steps"] = 5;
  train_to_the_end(job);
  job["data"]["seq_length"] = read_golden("gpt2-tiny").sequence_length / 2;
  job["run"]["steps"] = 6;
  job["checkpoint"]["resume"] = "must";
  train_to_the_end(job);
  const auto samples = [&](int step) {
    return CheckpointReader(checkpoint_path(directory.path("run/checkpoints"), step))
        .header()
        .samples;
  };
  EXPECT_EQ(samples(5), 40);
  EXPECT_EQ(samples(6), 88);
}

}  // namespace
}  // namespace triax::test
