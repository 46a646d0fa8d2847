// SPDX-License-Identifier: Apache-2.0
// Device runs with parameters (ZeRO-Infinity) or inputs of recomputed layers in host memory or on a
// disk. The location changes no bit. Runs on the emulated device everywhere, and on GPUs if there
// are any.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <span>

#include "tests/io/rank_fixtures.hpp"
#include "tests/parity/device_offload_jobs.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t offload_steps = 2;

nlohmann::json parameters_in_host(nlohmann::json job) {
  job["zero_optimization"]["offload_param"] = {{"device", "cpu"}};
  return job;
}

class DeviceOffload : public DeviceTest {};

// Trains the job with its parameters at each location.
void expect_no_change(const nlohmann::json& job, const std::string& directory,
                      std::span<const Place> places) {
  const auto expected = train(MPI_COMM_WORLD, job, offload_steps);
  for (const Place& place : places) {
    SCOPED_TRACE(place.name);
    auto offloaded = job;
    place.set(offloaded["zero_optimization"], directory);
    expect_same_bits(expected, train(MPI_COMM_WORLD, offloaded, offload_steps));
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_TRUE(std::filesystem::is_empty(directory)) << "files are left behind";
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(DeviceOffload, OfParametersChangesNoBit) {
  const SharedDirectory directory;
  expect_no_change(job_of(cut_layout()), directory.path(), parameter_places);
}

// 16-bit parameters with master copies, which are updated on the device, on the host, or on both.
TEST_F(DeviceOffload, OfParametersChangesNoBitWhereverTheyAreStepped) {
  const SharedDirectory directory;
  Layout layout = cut_layout();
  layout.type = "bf16";
  for (const Place& state : state_places) {
    SCOPED_TRACE(state.name);
    auto job = job_of(layout);
    state.set(job["zero_optimization"], directory.path());
    const std::array places = {parameter_places[0], parameter_places[4], parameter_places[5]};
    expect_no_change(job, directory.path(), places);
  }
}

// Without master copies, the host updates the parameters themselves.
TEST_F(DeviceOffload, TheHostStepsParametersThatItHas) {
  const SharedDirectory directory;
  auto job = job_of(cut_layout());
  job["zero_optimization"]["offload_optimizer"] = {{"device", "cpu"}};
  const std::array places = {parameter_places[0], parameter_places[4]};
  expect_no_change(job, directory.path(), places);
}

// One state, or none: nothing to offload, so the device steps. Packed states.
TEST_F(DeviceOffload, OfOtherOptimizersStateChangesNoBit) {
  const SharedDirectory directory;
  for (const nlohmann::json& optimizer :
       {nlohmann::json{{"type", "Lion"}}, nlohmann::json{{"type", "SGD"}},
        nlohmann::json{{"type", "AdamW8bit"}}})
    for (const char* type : {"f32", "bf16"}) {
      SCOPED_TRACE(optimizer.dump() + type);
      Layout layout = cut_layout();
      layout.type = type;
      auto job = job_of(layout);
      job["optimizer"] = optimizer;
      expect_no_change(job, directory.path(), state_places);
    }
}

TEST_F(DeviceOffload, OfParametersHasTheLossesOfPytorch) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const auto job = parameters_in_host(on_device(golden_job(golden, cut_layout())));
  expect_golden(golden, train(MPI_COMM_WORLD, job, 2));
}

TEST_F(DeviceOffload, OfInputsOfRecomputedLayersChangesNoBit) {
  for (const Layout& layout : recomputing_layouts()) {
    SCOPED_TRACE(layout.text());
    auto job = recomputing_job(layout);
    const auto expected = train(MPI_COMM_WORLD, job, offload_steps);
    job["activation_checkpointing"]["cpu_checkpointing"] = true;
    expect_same_bits(expected, train(MPI_COMM_WORLD, job, offload_steps));
  }
}

TEST_F(DeviceOffload, AnEvaluationBetweenStepsChangesNoBit) {
  const SharedDirectory directory;
  auto job = job_of(cut_layout());
  job["data"]["valid"] = job["data"]["train"];
  job["run"]["steps"] = offload_steps;
  job["run"]["eval_interval"] = 1;
  job["run"]["eval_steps"] = 1;
  std::vector<std::vector<nlohmann::json>> found;
  for (const bool offload : {false, true}) {
    job["run"]["directory"] = directory.path(offload ? "offloaded" : "plain");
    train_to_the_end(offload ? parameters_in_host(job) : job);
    if (world_rank() == 0) found.push_back(metrics_of(job["run"]["directory"]));
  }
  if (world_rank() != 0) return;
  ASSERT_EQ(found[0].size(), found[1].size());
  for (std::size_t line = 0; line < found[0].size(); ++line)
    for (const char* key : {"loss", "grad_norm", "valid_loss"})
      EXPECT_EQ(found[0][line].value(key, 0.0), found[1][line].value(key, 0.0)) << line << key;
}

// A checkpoint does not record where parameters were, even if it is written while training
// continues.
TEST_F(DeviceOffload, ChangesAtAResumeChangeNoBit) {
  const SharedDirectory directory;
  auto job = job_of(cut_layout());
  const auto run = [&](const Place* place, const std::string& name, const std::string& resume) {
    auto text = job;
    if (place != nullptr) place->set(text["zero_optimization"], directory.path());
    text["run"]["directory"] = directory.path(name);
    text["run"]["steps"] = resume == "never" ? 3 : 4;
    text["checkpoint"] = {{"resume", resume}, {"interval", 2}, {"async", true}, {"at_end", false}};
    train_to_the_end(text);
  };
  const std::vector<const Place*> places = {nullptr, &parameter_places[0], &parameter_places[4]};
  std::vector<nlohmann::json> losses;
  for (std::size_t first = 0; first < places.size(); ++first) {
    run(places[first], fmt::format("{}", first), "never");
    for (std::size_t second = 0; second < places.size(); ++second) {
      const std::string name = fmt::format("{}-{}", first, second);
      run(places[second], name,
          directory.path(fmt::format("{}/checkpoints/step-000002.h5", first)));
      if (world_rank() != 0) continue;
      const auto lines = metrics_of(directory.path(name));
      ASSERT_EQ(lines.size(), 2U);
      losses.push_back({lines[0]["loss"], lines[1]["loss"], lines[1]["grad_norm"]});
    }
  }
  for (const auto& found : losses) EXPECT_EQ(found, losses.front());
}

}  // namespace
}  // namespace triax::test
