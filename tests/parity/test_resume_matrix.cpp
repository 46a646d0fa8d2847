// SPDX-License-Identifier: Apache-2.0
// Any layout resumes the checkpoint of any other: losses continue as without a stop.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <tuple>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t steps_before = 2, steps_after = 2;
// Relative tolerances of losses and gradient norms. bf16 keeps 8 bits of a number, and a norm sums
// many rounded gradients.
constexpr double f32_tolerance = 1e-5, bf16_tolerance = 1e-3, bf16_norm_tolerance = 1e-2;

struct Member {
  std::string name;
  Layout layout;
  bool on_disk = false;  // parameters and optimizer state
};

const std::vector<Member>& members() {
  static const std::vector<Member> all = {
      {"single", {.micro = 2}},
      {"tensor4", {.tensor = 4, .micro = 2}},
      {"pipeline4", {.pipeline = 4, .micro = 2}},
      {"data4Stage1", {.data = 4, .micro = 1, .zero = 1}},
      {"data4Stage3", {.data = 4, .micro = 1, .zero = 3}},
      {"grid2x2x2", {.tensor = 2, .pipeline = 2, .data = 2, .micro = 2}},
      {"data4Stage3Nvme", {.data = 4, .micro = 1, .zero = 3}, true},
      {"grid2x1x2Bf16", {.tensor = 2, .data = 2, .micro = 2, .type = "bf16"}}};
  return all;
}

struct Pair {
  Member writer, reader;
};
void PrintTo(const Pair& pair, std::ostream* out) {
  *out << pair.writer.layout.text() << " resumed by " << pair.reader.layout.text();
}

std::vector<Pair> all_pairs() {
  std::vector<Pair> pairs;
  for (const Member& writer : members())
    for (const Member& reader : members()) pairs.push_back({writer, reader});
  return pairs;
}

// The first ranks of the world, as many as a member needs. The other ranks form groups of the same
// size.
struct Group {
  explicit Group(const Config& config)
      : ranks(grid_shape(config.parallel).size()), grid(make_grid(ranks.mpi(), config)) {}
  SubCommunicator ranks;
  ProcessGrid grid;
};

class ResumeMatrix : public testing::TestWithParam<Pair> {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<SharedDirectory>();
    everyone_ = std::make_unique<ProcessGrid>(MPI_COMM_WORLD, GridShape{world_size(), 1, 1});
  }
  static void TearDownTestSuite() {
    straight_.clear();
    groups_.clear();
    everyone_.reset();
    directory_.reset();
  }
  static nlohmann::json job_of(const Member& member, const std::string& run) {
    auto job = golden_job(read_golden("gpt2-tiny"), member.layout);
    job["run"]["directory"] = directory_->path(run);
    job["run"]["steps"] = steps_before + steps_after;
    // Things that a resume could get wrong: samples, dropout masks, a changing learning rate.
    job["data"]["seq_length"] = 16;
    job["data"]["shuffle"] = true;
    add_dropout(job);
    if (member.on_disk) {
      offload_optimizer(job, directory_->path());
      offload_parameters(job, directory_->path());
    }
    return job;
  }
  // Lines of metrics.jsonl, on rank 0, which takes part in every run.
  static std::vector<nlohmann::json> run(const Member& member, const nlohmann::json& text) {
    const Layout& l = member.layout;
    const LoadedJob job = load(text, l.ranks());
    auto& group = groups_[{l.tensor, l.pipeline, l.data}];  // expensive to make
    if (!group) group = std::make_unique<Group>(job.config);
    if (world_rank() >= l.ranks()) return {};
    train_to_the_end(group->grid, job);
    return world_rank() == 0 ? metrics_of(job.config.run.directory) : std::vector<nlohmann::json>();
  }
  // The uninterrupted run. It leaves the checkpoint that all readers resume.
  static const std::vector<nlohmann::json>& straight(const Member& writer) {
    const auto [found, is_new] = straight_.try_emplace(writer.name);
    if (!is_new) return found->second;
    auto job = job_of(writer, writer.name);
    job["checkpoint"]["interval"] = steps_before;
    found->second = run(writer, job);
    everyone_->world().barrier(Stream{}).wait(Stream{});  // every rank sees the file
    return found->second;
  }
  static std::vector<nlohmann::json> resumed(const Pair& pair) {
    auto job = job_of(pair.reader, pair.writer.name + "_" + pair.reader.name);
    job["checkpoint"]["resume"] = directory_->path(
        fmt::format("{}/checkpoints/step-{:06}.h5", pair.writer.name, steps_before));
    return run(pair.reader, job);
  }

 private:
  using Axes = std::tuple<int, int, int>;
  static inline std::unique_ptr<SharedDirectory> directory_;
  static inline std::unique_ptr<ProcessGrid> everyone_;
  static inline std::map<Axes, std::unique_ptr<Group>> groups_;
  static inline std::map<std::string, std::vector<nlohmann::json>> straight_;  // by writer
};

TEST_P(ResumeMatrix, GoesOnWhereTheWriterWas) {
  const Pair& pair = GetParam();
  if (world_size() != 8) GTEST_SKIP() << "needs 8 ranks";
  const auto& expected = straight(pair.writer);
  const auto found = resumed(pair);
  if (world_rank() != 0) return;
  ASSERT_EQ(expected.size(), steps_before + steps_after);
  if (pair.writer.name == pair.reader.name) {
    expect_resumed(found, expected, steps_before, 0.0, 0.0);
  } else if (pair.writer.layout.type == "bf16" || pair.reader.layout.type == "bf16") {
    expect_resumed(found, expected, steps_before, bf16_tolerance, bf16_norm_tolerance);
  } else {
    expect_resumed(found, expected, steps_before, f32_tolerance, f32_tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ResumeMatrix, testing::ValuesIn(all_pairs()), [](const auto& info) {
  return info.param.writer.name + "_" + info.param.reader.name;
});

}  // namespace
}  // namespace triax::test
