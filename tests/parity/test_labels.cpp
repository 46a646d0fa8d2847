// SPDX-License-Identifier: Apache-2.0
// Labels that data bring: the mean of the loss is over the label tokens of the global batch, on
// every rank, in training and evaluation. The golden case llama-labels holds the numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/io/rank_fixtures.hpp"
#include "tests/io/token_fixtures.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Layout> layouts() {
  switch (world_size()) {
    case 1:
      return {{.micro = 2}, {.micro = 3}};
    case 2:
      return {{.data = 2, .micro = 1, .zero = 2},
              {.tensor = 2, .micro = 4},
              {.pipeline = 2, .micro = 2}};
    default:
      return {{.pipeline = 2, .data = 2, .micro = 2, .zero = 3},
              {.data = 4, .micro = 3, .zero = 1}};
  }
}

using Ids = std::vector<std::int32_t>;

// A labelled file in the shared directory. Collective.
std::string labelled(const SharedDirectory& directory, const std::string& name, const Ids& tokens,
                     const Ids& labels) {
  const std::string path = directory.path(name);
  if (world_rank() == 0) labelled_file(path, tokens, labels);
  MPI_Barrier(MPI_COMM_WORLD);
  return path;
}

Ids tokens_of(const GoldenCase& golden) {
  return all_tokens(*open_tokens(golden.tokens));
}

// Label tokens of every step, counted from the file.
std::vector<std::int64_t> counts_of(const GoldenCase& golden) {
  const auto file = open_tokens(golden.tokens);
  const std::int64_t of_a_step = golden.global_batch * golden.sequence_length;
  std::vector<std::int64_t> counts;
  for (std::int64_t step = 0; step < golden.steps; ++step) {
    Ids labels(static_cast<std::size_t>(of_a_step));
    file->read_labels(step * of_a_step + 1, labels);
    counts.push_back(of_a_step - std::ranges::count(labels, ignored_label));
  }
  return counts;
}

TEST(Labels, AreCountedOverAllRanksAndNamedInTheMetrics) {
  const GoldenCase golden = read_golden("llama-labels");
  const SharedDirectory directory;
  auto job = golden_job(golden, layouts().front());
  job["run"]["directory"] = directory.path("run");
  train_to_the_end(job);
  if (world_rank() != 0) return;
  const std::vector<std::int64_t> counts = counts_of(golden);
  const auto lines = metrics_of(directory.path("run"));
  ASSERT_EQ(lines.size(), counts.size());
  for (std::size_t step = 0; step < counts.size(); ++step) {
    EXPECT_EQ(lines[step].at("label_tokens"), counts[step]);
    EXPECT_NEAR(lines[step].at("loss"), golden.expected[step].loss, golden_loss_tolerance * 5);
  }
}

TEST(Labels, EqualToTheTokensChangeNoBit) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const SharedDirectory directory;
  const Ids tokens = tokens_of(golden);
  const std::string file = labelled(directory, "same.h5", tokens, tokens);
  for (const Layout& layout : layouts()) {
    if (!carries(golden, layout)) continue;
    SCOPED_TRACE(layout.text());
    auto job = golden_job(golden, layout);
    const auto plain = train(MPI_COMM_WORLD, job, 4);
    job["data"]["train"] = {file};
    const auto with_labels = train(MPI_COMM_WORLD, job, 4);
    expect_same_bits(plain, with_labels);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_FALSE(with_labels[i].label_tokens);
      EXPECT_EQ(plain[i].bytes_sent_data, with_labels[i].bytes_sent_data);
      EXPECT_EQ(plain[i].messages_sent_data, with_labels[i].messages_sent_data);
    }
  }
}

// Five batches of which the third has no label; and the same without that batch.
struct Gap {
  Ids tokens, labels, tokens_without, labels_without;
  Gap(const Ids& text, std::int64_t batch) {
    const auto at = [&](std::int64_t batches) { return batches * batch; };
    tokens.assign(text.begin(), text.begin() + at(5) + 1);
    labels = tokens;
    std::fill(labels.begin() + at(2) + 1, labels.begin() + at(3) + 1, ignored_label);
    tokens_without = tokens;
    labels_without = tokens;
    tokens_without.erase(tokens_without.begin() + at(2), tokens_without.begin() + at(3));
    labels_without.erase(labels_without.begin() + at(2) + 1, labels_without.begin() + at(3) + 1);
  }
};

TEST(Labels, AStepWithoutAnyChangesNothing) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const SharedDirectory directory;
  const Gap gap(tokens_of(golden), golden.global_batch * golden.sequence_length);
  const std::string with = labelled(directory, "with.h5", gap.tokens, gap.labels);
  const std::string without =
      labelled(directory, "without.h5", gap.tokens_without, gap.labels_without);
  for (const Layout& layout : layouts()) {
    if (!carries(golden, layout)) continue;
    SCOPED_TRACE(layout.text());
    auto job = golden_job(golden, layout);
    job["data"]["train"] = {without};
    const auto expected = train(MPI_COMM_WORLD, job, 4);
    job["data"]["train"] = {with};
    auto found = train(MPI_COMM_WORLD, job, 5);
    EXPECT_EQ(found[2].label_tokens, 0);
    EXPECT_EQ(found[2].loss, 0.0);
    EXPECT_EQ(found[2].grad_norm, 0.0);
    EXPECT_FALSE(found[2].skipped);
    EXPECT_EQ(found[2].lr, found[3].lr) << "it counts neither for the schedule nor as an update";
    found.erase(found.begin() + 2);
    expect_same_bits(found, expected);
  }
}

TEST(Labels, ARunWithoutAnyIsRefused) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const SharedDirectory directory;
  const Ids tokens = tokens_of(golden);
  const std::string file =
      labelled(directory, "none.h5", tokens, Ids(tokens.size(), ignored_label));
  auto job = golden_job(golden, layouts().front());
  job["run"]["directory"] = directory.path("run");
  job["run"]["steps"] = 2;
  job["data"]["train"] = {file};
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }),
              AllOf(HasSubstr("no step changed the weights"), HasSubstr("data.train")));
}

// Loss of the weights that the golden case begins with, on the first `samples` of a file.
double loss_of(const GoldenCase& golden, const std::string& file, std::int64_t samples) {
  auto job = golden_job(golden, {.micro = 4});
  job["data"]["train"] = {file};
  job["train_batch_size"] = samples;
  return train(MPI_COMM_SELF, job, 1).front().loss;
}

// Runs one step of learning rate 0 with an evaluation of a labelled file. Collective.
void evaluate(const GoldenCase& golden, const Layout& layout, const std::string& file,
              const std::string& run) {
  auto job = golden_job(golden, layout);
  job["run"] = {{"directory", run}, {"steps", 1}, {"progress", "none"}, {"eval_interval", 1}};
  job["data"]["valid"] = {file};
  job["optimizer"]["params"]["lr"] = 0.0;
  job.erase("scheduler");
  train_to_the_end(job);
}

TEST(Labels, OfEvaluationsAreCountedOverAllBatches) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const SharedDirectory directory;
  const Ids tokens = tokens_of(golden);
  Ids labels = tokens;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (i % 7 < 4 || i < 300) labels[i] = ignored_label;
  const std::string file = labelled(directory, "valid.h5", tokens, labels);
  const std::int64_t samples = (std::ssize(tokens) - 1) / golden.sequence_length;
  const double expected = loss_of(golden, file, samples / 4 * 4);
  for (const Layout& layout : layouts()) {
    if (!carries(golden, layout)) continue;
    SCOPED_TRACE(layout.text());
    const std::string run = directory.path(layout.text());
    evaluate(golden, layout, file, run);
    if (world_rank() != 0) continue;
    const auto lines = metrics_of(run);
    const double found = lines.back().at("valid_loss");
    EXPECT_NEAR(found, expected, golden_loss_tolerance * expected);
  }
}

TEST(Labels, AnEvaluationWithoutAnyIsAnError) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const SharedDirectory directory;
  const Ids tokens = tokens_of(golden);
  const std::string file =
      labelled(directory, "none.h5", tokens, Ids(tokens.size(), ignored_label));
  EXPECT_THAT(
      error_of([&] { evaluate(golden, layouts().front(), file, directory.path("run")); }),
      AllOf(HasSubstr("validation has no loss"), HasSubstr("-100"), HasSubstr("data.valid")));
}

}  // namespace
}  // namespace triax::test
