// SPDX-License-Identifier: Apache-2.0
// Masked documents: rows of several documents train as the same documents one by one do, send
// nothing more, and resume anywhere. The golden cases *-documents hold the numbers.
#include <algorithm>
#include <numeric>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/io/token_fixtures.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

constexpr int steps = 3, rows = 8;  // of a step

std::vector<Layout> layouts() {
  switch (world_size()) {
    case 1:
      return {{.micro = 2},
              {.micro = 8, .recompute = 9},
              {.micro = 1, .recompute = 9, .granularity = "selective"}};
    case 2:
      return {{.data = 2, .micro = 2, .zero = 3},
              {.tensor = 2, .micro = 4},
              {.tensor = 2, .micro = 2, .sequence_parallel = false},
              {.pipeline = 2, .micro = 2}};
    default:
      return {{.pipeline = 4, .micro = 2},
              {.tensor = 2, .pipeline = 2, .micro = 2, .recompute = 1},
              {.pipeline = 2, .data = 2, .micro = 1, .zero = 2}};
  }
}

// Rows of tokens with their labels, and the first token of each document.
struct Rows {
  Ids tokens, labels;
  std::vector<std::int64_t> documents;
  // Adds a row of documents, filled up.
  void add(const std::vector<Ids>& row, int length) {
    const auto end = tokens.size() + static_cast<std::size_t>(length);
    for (const Ids& document : row) {
      documents.push_back(std::ssize(tokens));
      tokens.insert(tokens.end(), document.begin(), document.end());
      labels.push_back(ignored_label);  // nothing comes before it
      labels.insert(labels.end(), document.begin() + 1, document.end());
    }
    if (tokens.size() < end) documents.push_back(std::ssize(tokens));
    tokens.resize(end, 0);
    labels.resize(end, ignored_label);
  }
  std::string write(const std::string& path) {
    documents.insert(documents.end(), {std::ssize(tokens), std::ssize(tokens) + 1});
    tokens.push_back(0);
    labels.push_back(ignored_label);
    return labelled_file(path, tokens, labels, documents);
  }
};

class Documents : public testing::TestWithParam<const char*> {
 protected:
  // Each row has the first, middle and last part of a sample of the golden case, cut at `parts`.
  Documents() {
    const Ids text = all_tokens(*open_tokens(golden_.tokens));
    const auto at = [&](int row, int token) { return text.begin() + row * length_ + token; };
    for (int row = 0; row < steps * rows; ++row) {
      const int a = 1 + row % (length_ / 2), b = a + 1 + row % (length_ / 3);
      std::vector<Ids> parts = {Ids(at(row, 0), at(row, a)), Ids(at(row, a), at(row, b)),
                                Ids(at(row, b), at(row, length_ - row % 3))};
      packed_.add(parts, length_);
      for (const Ids& part : parts) alone_.add({part}, length_);
    }
    if (world_rank() == 0) {
      packed_.write(directory_.path("packed.h5"));
      alone_.write(directory_.path("alone.h5"));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  nlohmann::json job(const Layout& layout, const std::string& file, int batch) const {
    auto job = golden_job(golden_, layout);
    job["data"]["train"] = {directory_.path(file)};
    job["train_batch_size"] = batch;
    return job;
  }
  nlohmann::json masked(const Layout& layout) const {
    auto masked = job(layout, "packed.h5", rows);
    masked["data"]["documents"] = "mask";
    return masked;
  }

  GoldenCase golden_ = read_golden(GetParam());
  int length_ = golden_.sequence_length;
  SharedDirectory directory_;
  Rows packed_, alone_;
};
INSTANTIATE_TEST_SUITE_P(Models, Documents, testing::Values("gpt2-tiny", "llama-tiny", "mistral"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(Documents, TrainAsTheSameDocumentsOneByOne) {
  const SubCommunicator single(1);
  const auto expected = train(single.mpi(), job({.micro = 6}, "alone.h5", 3 * rows), steps);
  for (const Layout& layout : layouts()) {
    if (!carries(golden_, layout)) continue;
    SCOPED_TRACE(layout.text());
    const auto found = train(MPI_COMM_WORLD, masked(layout), steps);
    for (std::size_t step = 0; step < steps; ++step) {
      EXPECT_NEAR(found[step].loss, expected[step].loss, 2e-6 * expected[step].loss) << step;
      EXPECT_NEAR(found[step].grad_norm, expected[step].grad_norm, 1e-5 * expected[step].grad_norm)
          << step;
    }
    const auto joined = train(MPI_COMM_WORLD, job(layout, "packed.h5", rows), steps);
    EXPECT_GT(std::abs(joined[0].loss - expected[0].loss), 1e-5) << "documents see each other";
    for (std::size_t step = 0; step < steps; ++step) {
      EXPECT_EQ(found[step].bytes_sent_data, joined[step].bytes_sent_data);
      EXPECT_EQ(found[step].bytes_sent_tensor, joined[step].bytes_sent_tensor);
      EXPECT_EQ(found[step].bytes_sent_pipeline, joined[step].bytes_sent_pipeline);
    }
  }
}

TEST_P(Documents, ResumeInTheMiddle) {
  const Layout layout = layouts().front();
  if (!carries(golden_, layout)) GTEST_SKIP() << "the model does not fit " << layout.text();
  const auto lines = [&](const std::string& name, nlohmann::json job) {
    job["run"]["directory"] = directory_.path(name);
    job["run"]["steps"] = steps;
    job["data"]["shuffle"] = true;
    train_to_the_end(job);
    return metrics_of(directory_.path(name));
  };
  auto job = masked(layout);
  job["checkpoint"] = {{"resume", "never"}, {"interval", 1}, {"keep", 0}};
  const auto straight = lines("straight", job);
  job["checkpoint"]["resume"] = checkpoint_path(directory_.path("straight") + "/checkpoints", 1);
  expect_resumed(lines("resumed", job), straight, 1, 0.0, 0.0);
}

// Without documents in the file the end token of its tokenizer ends them.
TEST(DocumentsOfData, WithoutBordersAreRefused) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  for (const auto& [key, value] : {std::pair<const char*, nlohmann::json>{"documents", "mask"},
                                   {"mask_end_token_loss", true}}) {
    auto job = golden_job(golden, layouts().front());
    job["data"][key] = value;
    EXPECT_THAT(error_of([&] { train(MPI_COMM_WORLD, job, 1); }),
                AllOf(HasSubstr("tokens.bin does not tell its documents apart"),
                      HasSubstr("data.documents")));
  }
}

}  // namespace
}  // namespace triax::test
