// What a device's run has in the host's memory or on a disk: parameters (ZeRO-Infinity) and inputs
// of recomputed layers. Where it lies changes no bit, and takes what the plan says. By the emulated
// device on any machine; on GPUs where there are some.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <span>

#include "src/train/memory_check.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/parity/device_jobs.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t steps = 2;

// Of so many ranks, with parameters cut over those of the data axis.
Layout cut_layout() {
  if (world_size() == 1) return {.micro = 2, .zero = 3};
  if (world_size() == 2) return {.data = 2, .micro = 2, .zero = 3};
  return {.tensor = 2, .data = 2, .micro = 2, .zero = 3};
}

// Small, for the emulated device takes its time.
nlohmann::json job_of(const Layout& layout) {
  auto job = on_device(golden_job(read_golden("gpt2-tiny"), layout));
  job["model"] = {{"architecture", "gpt2"}, {"n_layer", 3},      {"n_head", 2},
                  {"n_embd", 16},           {"n_positions", 16}, {"vocab_size", 256}};
  job["data"]["seq_length"] = 8;
  job["train_batch_size"] = 4 * layout.micro;
  job["zero_optimization"]["stage3_param_persistence_threshold"] = 100;
  return job;
}

nlohmann::json parameters_in_host(nlohmann::json job) {
  job["zero_optimization"]["offload_param"] = {{"device", "cpu"}};
  return job;
}

class DeviceOffload : public DeviceTest {};

// A place for parameters and for the optimizer's state.
struct Place {
  const char* name;
  void (*set)(nlohmann::json& zero, const std::string& directory);
};
const Place parameter_places[] = {
    {"host",
     [](auto& zero, auto&) {
       zero["offload_param"] = {{"device", "cpu"}};
     }},
    {"half on the device",
     [](auto& zero, auto&) {
       zero["offload_param"] = {{"device", "cpu"}, {"ratio", 0.5}};
     }},
    {"host, one at once",
     [](auto& zero, auto&) {
       zero["offload_param"] = {{"device", "cpu"}, {"buffer_count", 1}};
     }},
    {"host, not ahead",
     [](auto& zero, auto&) {
       zero["offload_param"] = {
           {"device", "cpu"}, {"pipeline_read", false}, {"pipeline_write", false}};
     }},
    {"disk",
     [](auto& zero, auto& directory) {
       zero["offload_param"] = {{"device", "nvme"}, {"nvme_path", directory}, {"max_in_cpu", 0}};
     }},
    {"host and disk", [](auto& zero, auto& directory) {
       zero["offload_param"] = {{"device", "nvme"}, {"nvme_path", directory}, {"max_in_cpu", 4000}};
     }}};
const Place state_places[] = {
    {"device", [](auto&, auto&) {}},
    {"host",
     [](auto& zero, auto&) {
       zero["offload_optimizer"] = {{"device", "cpu"}};
     }},
    {"half on the host",
     [](auto& zero, auto&) {
       zero["offload_optimizer"] = {{"device", "cpu"}, {"ratio", 0.5}};
     }},
    {"disk",
     [](auto& zero, auto& directory) {
       zero["offload_optimizer"] = {{"device", "nvme"}, {"nvme_path", directory}};
     }},
    {"half on the disk", [](auto& zero, auto& directory) {
       zero["offload_optimizer"] = {{"device", "nvme"}, {"nvme_path", directory}, {"ratio", 0.5}};
     }}};

// The job with its parameters at each of the places.
void expect_no_change(const nlohmann::json& job, const std::string& directory,
                      std::span<const Place> places) {
  const auto expected = train(MPI_COMM_WORLD, job, steps);
  for (const Place& place : places) {
    SCOPED_TRACE(place.name);
    auto offloaded = job;
    place.set(offloaded["zero_optimization"], directory);
    expect_same_bits(expected, train(MPI_COMM_WORLD, offloaded, steps));
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_TRUE(std::filesystem::is_empty(directory)) << "files are left behind";
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(DeviceOffload, OfParametersChangesNoBit) {
  const SharedDirectory directory;
  expect_no_change(job_of(cut_layout()), directory.path(), parameter_places);
}

// 16-bit parameters, whose master copies are stepped: on the device, on the host, or both.
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

// With no master copy the host steps the parameters themselves.
TEST_F(DeviceOffload, TheHostStepsParametersThatItHas) {
  const SharedDirectory directory;
  auto job = job_of(cut_layout());
  job["zero_optimization"]["offload_optimizer"] = {{"device", "cpu"}};
  const std::array places = {parameter_places[0], parameter_places[4]};
  expect_no_change(job, directory.path(), places);
}

TEST_F(DeviceOffload, OfParametersHasTheLossesOfPytorch) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const auto job = parameters_in_host(on_device(golden_job(golden, cut_layout())));
  expect_golden(golden, train(MPI_COMM_WORLD, job, 2));
}

// Layers of several kinds of ranks that are recomputed, all of them.
std::vector<Layout> recomputing_layouts() {
  if (world_size() == 1) return {{.micro = 2, .recompute = 9}};
  if (world_size() == 2)
    return {
        {.tensor = 2, .micro = 2, .sequence_parallel = false, .recompute = 9, .partition = true},
        {.pipeline = 2, .schedule = "gpipe", .micro = 1, .recompute = 9},
        {.data = 2, .micro = 1, .zero = 3, .recompute = 2}};
  return {{.pipeline = 2,
           .data = 2,
           .schedule = "interleaved",
           .chunks = 2,
           .micro = 1,
           .recompute = 9}};
}

nlohmann::json recomputing_job(const Layout& layout) {
  auto job = job_of(layout);
  job["model"]["n_layer"] = 6;
  return job;
}

TEST_F(DeviceOffload, OfInputsOfRecomputedLayersChangesNoBit) {
  for (const Layout& layout : recomputing_layouts()) {
    SCOPED_TRACE(layout.text());
    auto job = recomputing_job(layout);
    const auto expected = train(MPI_COMM_WORLD, job, steps);
    job["activation_checkpointing"]["cpu_checkpointing"] = true;
    expect_same_bits(expected, train(MPI_COMM_WORLD, job, steps));
  }
}

TEST_F(DeviceOffload, AnEvaluationBetweenStepsChangesNoBit) {
  const SharedDirectory directory;
  auto job = job_of(cut_layout());
  job["data"]["valid"] = job["data"]["train"];
  job["run"]["steps"] = steps;
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

// A checkpoint says nothing of where parameters were, also where it is written while training goes
// on.
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

// Makes a run of the job, and holds what it takes to what is planned.
void expect_as_planned(const nlohmann::json& text) {
  LoadedJob job = load(text, world_size());
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, job.config);
  job = on_grid(std::move(job), grid);
  const JobPlan plan = plan_job(job.config);
  const RankMemory& planned = plan.memory.of(world_rank());
  KindBytes cut = planned.device;
  EXPECT_EQ(cut.communication, grid.stages_messages() ? 0 : nccl_groups(job.config) * nccl_reserve);
  cut.communication = 0;
  cut.buffers -= cuda_reserve;
  const std::int64_t before = device_facts().free_bytes;
  Trainer trainer(job, grid);
  const std::int64_t taken = before - device_facts().free_bytes;
  constexpr std::int64_t page = 4096;  // of the emulated device
  const bool emulated = device_facts().name == "emulated device";
  if (emulated) {
    EXPECT_GE(taken, cut.total());
    EXPECT_LT(taken, cut.total() + page) << "one piece, of what is listed";
  }
  trainer.train_step(0);
  const std::int64_t free = device_facts().free_bytes;
  if (emulated) {
    EXPECT_EQ(before - free, taken) << "the first step allocates on the device";
  }
  trainer.train_step(1);
  if (grid.ranks_of_device().size() == 1) {  // nobody else's is counted
    EXPECT_EQ(device_facts().free_bytes, free) << "a step allocates on the device";
  }
  const Allocations held = trainer.allocations();
  EXPECT_EQ(on_gpu_by_kind(held), cut);
  KindBytes host = by_kind(held, plan.program), listed = planned.host;
  host -= on_gpu_by_kind(held);
  listed.communication = 0;
  EXPECT_EQ(host, listed);
  const bool between_stages = job.config.parallel.pipeline > 1;
  EXPECT_EQ(grid.staging_bytes() > 0,
            between_stages || (world_size() > 1 && grid.stages_messages()));
  EXPECT_LE(grid.staging_bytes(), planned.host.communication);
}

TEST_F(DeviceOffload, AllocatesWhatThePlanSays) {
  const SharedDirectory directory;
  Layout layout = world_size() == 1   ? Layout{.micro = 4}
                  : world_size() == 2 ? Layout{.data = 2, .micro = 4, .zero = 1}
                                      : Layout{.tensor = 2, .data = 2, .micro = 4, .zero = 1};
  layout.type = "fp8";  // with copies of matrices
  auto job = on_device(golden_job(read_golden("llama-tiny"), layout));
  expect_as_planned(job);
  job["zero_optimization"]["offload_optimizer"] = {{"device", "cpu"}};
  expect_as_planned(job);
}

TEST_F(DeviceOffload, OfParametersAllocatesWhatThePlanSays) {
  const SharedDirectory directory;
  for (const Place& state : {state_places[0], state_places[2]})
    for (const Place& place : {parameter_places[0], parameter_places[1], parameter_places[5]}) {
      SCOPED_TRACE(fmt::format("state: {}, parameters: {}", state.name, place.name));
      Layout layout = cut_layout();
      layout.type = "bf16";
      auto job = job_of(layout);
      state.set(job["zero_optimization"], directory.path());
      place.set(job["zero_optimization"], directory.path());
      expect_as_planned(job);
    }
}

TEST_F(DeviceOffload, OfInputsAllocatesWhatThePlanSays) {
  for (const Layout& layout : recomputing_layouts()) {
    SCOPED_TRACE(layout.text());
    auto job = recomputing_job(layout);
    const LoadedJob without = load(job, world_size());
    job["activation_checkpointing"]["cpu_checkpointing"] = true;
    expect_as_planned(job);
    const LoadedJob with = load(job, world_size());
    const RankMemory here = plan_job(without.config).memory.of(world_rank());
    const RankMemory there = plan_job(with.config).memory.of(world_rank());
    EXPECT_LT(there.device.activations, here.device.activations);
    EXPECT_GT(there.host.activations, 0);
  }
}

}  // namespace
}  // namespace triax::test
