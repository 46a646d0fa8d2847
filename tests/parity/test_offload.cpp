// SPDX-License-Identifier: Apache-2.0
// The location of optimizer state and parameters changes no bit: on a disk, in sub-groups, or in
// memory.
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "io/hdf5/hdf5.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t steps = std::min(PARITY_STEPS, 5);

// Layouts of these ranks with every ZeRO stage.
std::vector<Layout> layouts() {
  std::vector<Layout> all;
  for (const int zero : {0, 1, 2, 3}) {
    if (world_size() == 1) all.push_back({.micro = 2, .zero = zero});
    if (world_size() == 2) all.push_back({.data = 2, .micro = 2, .zero = zero});
    if (world_size() == 4) {
      all.push_back({.tensor = 2, .data = 2, .micro = 2, .zero = zero});
      all.push_back({.pipeline = 2, .data = 2, .micro = 1, .zero = zero});
    }
  }
  return all;
}

nlohmann::json job_of(const std::string& name, const Layout& layout) {
  auto job = golden_job(read_golden(name), layout);
  job["zero_optimization"]["stage3_param_persistence_threshold"] = 100;
  return job;
}

nlohmann::json offloaded(nlohmann::json job, const Layout& layout, const std::string& directory) {
  offload_optimizer(job, directory);
  if (layout.zero == 3) offload_parameters(job, directory);
  return job;
}

TEST(Offload, ToNvmeChangesNoBit) {
  const SharedDirectory directory;
  for (const char* name : {"gpt2-tiny", "qwen2-odd"})
    for (const Layout& layout : layouts()) {
      if (!carries(read_golden(name), layout)) continue;
      SCOPED_TRACE(name + (": " + layout.text()));
      const auto job = job_of(name, layout);
      expect_same_bits(train(MPI_COMM_WORLD, job, steps),
                       train(MPI_COMM_WORLD, offloaded(job, layout, directory.path()), steps));
      EXPECT_TRUE(std::filesystem::is_empty(directory.path())) << "files are left behind";
      MPI_Barrier(MPI_COMM_WORLD);
    }
}

// 16-bit parameters: their master copies are offloaded too.
TEST(Offload, MasterWeightsChangeNoBit) {
  const SharedDirectory directory;
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.text());
    auto job = job_of("llama-tiny", layout);
    job["bf16"]["enabled"] = true;
    expect_same_bits(train(MPI_COMM_WORLD, job, steps),
                     train(MPI_COMM_WORLD, offloaded(job, layout, directory.path()), steps));
  }
}

TEST(Offload, EverySettingChangesNoBit) {
  const SharedDirectory directory;
  Layout layout = layouts().back();
  const auto job = job_of("gpt2-tiny", layout);
  const auto expected = train(MPI_COMM_WORLD, job, steps);
  const auto check_with = [&](const char* what, auto&& change) {
    SCOPED_TRACE(what);
    auto changed = offloaded(job, layout, directory.path());
    change(changed["zero_optimization"]);
    expect_same_bits(expected, train(MPI_COMM_WORLD, changed, steps));
  };
  check_with("no pipelining", [](auto& zero) {
    zero["offload_optimizer"]["pipeline_read"] = zero["offload_optimizer"]["pipeline_write"] =
        false;
  });
  check_with("one buffer", [](auto& zero) {
    zero["offload_optimizer"]["buffer_count"] = zero["offload_param"]["buffer_count"] = 1;
  });
  check_with("some in memory", [](auto& zero) {
    zero["offload_optimizer"]["ratio"] = 0.4;
    zero["offload_param"]["max_in_cpu"] = 20000;
  });
  check_with("a share in memory", [](auto& zero) { zero["offload_param"]["ratio"] = 0.5; });
  check_with("parameters without pipelining", [](auto& zero) {
    zero["offload_param"]["pipeline_read"] = zero["offload_param"]["pipeline_write"] = false;
  });
  check_with("small buffers", [](auto& zero) { zero["offload_optimizer"]["buffer_size"] = 1024; });
  check_with("one part a block", [](auto& zero) { zero["sub_group_size"] = 1e9; });
  check_with("in memory", [](auto& zero) { zero["offload_optimizer"]["ratio"] = 0.0; });
}

TEST(Offload, AnEvaluationBetweenStepsChangesNoBit) {
  const SharedDirectory directory;
  const Layout layout = layouts().back();
  auto job = job_of("gpt2-tiny", layout);
  job["data"]["valid"] = job["data"]["train"];
  expect_same_bits(train(MPI_COMM_WORLD, job, steps),
                   train(MPI_COMM_WORLD, offloaded(job, layout, directory.path()), steps));
}

// A trainer whose state is in `directory`.
struct OffloadedRun {
  explicit OffloadedRun(const std::string& directory)
      : layout(layouts().back()),
        job(load(offloaded(job_of("gpt2-tiny", layout), layout, directory), world_size())),
        grid(make_grid(MPI_COMM_WORLD, job.config)),
        trainer(job, grid) {}
  Layout layout;
  LoadedJob job;
  ProcessGrid grid;
  Trainer trainer;
};

// This rank's files in a directory.
std::vector<std::string> files_of_rank(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().filename().string().find(fmt::format("-rank-{}-", world_rank())) !=
        std::string::npos)
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Offload, FilesAreReadableByHdf5DuringTheRun) {
  const SharedDirectory directory;
  OffloadedRun run(directory.path());
  run.trainer.train_step(0);
  const auto files = files_of_rank(directory.path());
  ASSERT_EQ(files.size(), 2U);
  const hdf5::File optimizer(files[0], hdf5::File::Mode::read);
  const hdf5::File parameters(files[1], hdf5::File::Mode::read);
  std::size_t moments = 0;
  std::size_t parts = 0;
  std::size_t stored = 0;
  for (int b = 0; b < std::ssize(run.trainer.store().blocks()); ++b) {
    const ParameterBlock& block = run.trainer.store().blocks()[static_cast<std::size_t>(b)];
    const std::string name = fmt::format("/block {}", b);
    parts += block.parts.size();
    for (const char* state : {"/optimizer/exp_avg", "/optimizer/exp_avg_sq"}) {
      EXPECT_EQ(optimizer.shape(state + name), Shape{block.stepped.count()});
      ++moments;
    }
    EXPECT_EQ(block.stored(), block.sharded());
    if (!block.stored()) continue;
    EXPECT_EQ(parameters.shape("/model" + name), Shape{block.parameters.count()});
    ++stored;
  }
  EXPECT_EQ(optimizer.datasets("/").size(), moments);
  EXPECT_EQ(parameters.datasets("/").size(), stored);
  EXPECT_GT(stored, 0U);
  EXPECT_GT(parts, 4 * run.trainer.store().blocks().size());
}

TEST(Offload, ADiskThatFailsInTheMidstIsNamedWithItsInstruction) {
  const SharedDirectory directory;
  OffloadedRun run(directory.path());
  run.trainer.train_step(0);
  if (world_size() > 1) GTEST_SKIP() << "one rank's failure ends the others by MPI_Abort";
  const std::string file = files_of_rank(directory.path()).front();
  std::filesystem::resize_file(file, 8192);
  EXPECT_THAT(error_of([&] { run.trainer.train_step(1); }),
              AllOf(HasSubstr("fetch b"), HasSubstr(file), HasSubstr("the file ends there")));
}

// All ranks throw if one has no disk space.
TEST(Offload, AFullDiskIsFoundAtTheStart) {
  const SharedDirectory directory;
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit before = limit;
  if (world_rank() == 0) limit.rlim_cur = 1 << 16;
  setrlimit(RLIMIT_FSIZE, &limit);
  const std::string error = error_of([&] { OffloadedRun run(directory.path()); });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(error, AllOf(HasSubstr("-rank-0-"), HasSubstr("File too large")));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

// A checkpoint does not record where the state was.
TEST(Offload, ChangesAtAResumeChangeNoBit) {
  const SharedDirectory directory;
  const SharedDirectory disk;
  const Layout layout = layouts().back();
  const auto run = [&](bool offload, const std::string& name, const std::string& resume,
                       std::vector<StepMetrics>& metrics) {
    auto job = job_of("gpt2-tiny", layout);
    if (offload) job = offloaded(job, layout, disk.path());
    job["run"]["directory"] = directory.path(name);
    job["run"]["steps"] = resume == "never" ? 2 : 4;
    job["checkpoint"] = {{"resume", resume}, {"at_end", true}};
    const LoadedJob loaded = load(job, world_size());
    ProcessGrid grid = make_grid(MPI_COMM_WORLD, loaded.config);
    Trainer trainer(loaded, grid);
    if (resume == "never") {
      trainer.run();
      return;
    }
    for (std::int64_t step = 2; step < 4; ++step) metrics.push_back(trainer.train_step(step));
  };
  std::vector<std::vector<StepMetrics>> found;
  std::vector<StepMetrics> none;
  for (const bool first : {false, true}) {
    const std::string name = first ? "offloaded" : "plain";
    run(first, name, "never", none);
    MPI_Barrier(MPI_COMM_WORLD);
    for (const bool second : {false, true})
      run(second, name + "-resumed", directory.path(name + "/checkpoints/step-000002.h5"),
          found.emplace_back());
  }
  for (const auto& metrics : found) expect_same_bits(metrics, found.front());
}

}  // namespace
}  // namespace triax::test
