// SPDX-License-Identifier: Apache-2.0
#pragma once
// Short runs of one process, and the files that they leave.
#include <csignal>
#include <filesystem>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/training.hpp"

namespace triax::test {

class RunEnds : public testing::Test {
 protected:
  nlohmann::json job(const std::string& run, std::int64_t steps) const {
    auto job = golden_job(read_golden("gpt2-deep"), {.micro = 4});
    job.erase("scheduler");
    job.erase("checkpoint");
    job["run"]["directory"] = directory_.path(run);
    job["run"]["steps"] = steps;
    job["run"]["progress"] = "none";
    return job;
  }
  std::vector<std::string> checkpoints(const std::string& run) const {
    std::vector<std::string> names;
    for (const std::string& path : list_checkpoints(directory_.path(run + "/checkpoints")))
      names.push_back(std::filesystem::path(path).filename());
    return names;
  }
  std::vector<nlohmann::json> lines(const std::string& run) const {
    return metrics_of(directory_.path(run));
  }
  // Runs a job with `signal` (0: none) sent before its first step.
  static RunEnd signalled(const nlohmann::json& json, int signal) {
    const LoadedJob loaded = load(json, 1);
    ProcessGrid grid = make_grid(MPI_COMM_SELF, loaded.config);
    Trainer trainer(loaded, grid);
    if (signal != 0) kill(getpid(), signal);
    return trainer.run();
  }
  TempDirectory directory_;
};

}  // namespace triax::test
