// SPDX-License-Identifier: Apache-2.0
// Running average of the weights (run.ema): its values on every grid, in checkpoints, on resumes,
// and where a command computes with it.
#include <gmock/gmock.h>

#include <algorithm>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "src/huggingface/huggingface_export.hpp"
#include "src/inference/model_files.hpp"
#include "src/state/weights/huggingface_weights.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t steps = 4;
constexpr double decay = 0.75;

nlohmann::json job_of(const Layout& layout, const char* optimizer = "AdamW",
                      std::int64_t interval = 1) {
  auto job = golden_job(read_golden("llama-tiny"), layout);
  job["optimizer"] = {{"type", optimizer}, {"params", {{"lr", 1e-2}}}};
  job["scheduler"]["params"]["min_lr"] = 0.0;
  job["run"]["ema"] = {{"decay", decay}, {"interval", interval}};
  return job;
}

std::vector<Layout> layouts() {
  std::vector<Layout> all = {{.micro = 2}, {.tensor = 2, .micro = 1}, {.pipeline = 2, .micro = 1}};
  for (const int zero : {0, 1, 2, 3})
    all.push_back({.data = world_size(), .micro = 1, .zero = zero});
  all.push_back({.tensor = 2, .data = 2, .micro = 1, .zero = 3});
  std::erase_if(all, [](const Layout& l) { return l.ranks() != world_size(); });
  return all;
}

// A run over all ranks. The average is the last state.
struct AveragedRun {
  explicit AveragedRun(const nlohmann::json& text)
      : job(load(text, world_size())),
        grid(make_grid(MPI_COMM_WORLD, job.config)),
        trainer(job, grid) {}
  GlobalValues weights() {
    return collect(grid, job.config.model, trainer.store(), [&](int block) {
      const StateView& state = trainer.optimizer().kept_state(block);
      const bool master = trainer.optimizer().has_master() && state.range.count() > 0;
      return master ? state.master : trainer.store().weights(block);
    });
  }
  GlobalValues average() {
    return collect(grid, job.config.model, trainer.store(), [&](int block) {
      return trainer.optimizer().kept_state(block).states[trainer.optimizer().states().size() - 1];
    });
  }
  LoadedJob job;
  ProcessGrid grid;
  Trainer trainer;
};

void expect_near(const GlobalValues& found, const GlobalValues& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, values] : expected)
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(found.at(name)[i], values[i], tolerance) << name << "[" << i << "]";
}

void expect_average_of_weights(const nlohmann::json& job, std::int64_t interval) {
  AveragedRun run(job);
  GlobalValues expected = run.weights();
  EXPECT_EQ(run.average(), expected) << "it begins as the weights";
  for (std::int64_t step = 0; step < steps; ++step) {
    run.trainer.train_step(step);
    if ((step + 1) % interval != 0) continue;
    for (const auto& [name, weights] : run.weights())
      for (std::size_t i = 0; i < weights.size(); ++i) {
        float& of = expected[name][i];
        of = static_cast<float>(decay * static_cast<double>(of) +
                                (1.0 - decay) * static_cast<double>(weights[i]));
      }
  }
  expect_near(run.average(), expected, 1e-6);
  EXPECT_NE(run.average(), run.weights());
}

TEST(WeightAverage, IsThatOfTheWeightsOnEveryGrid) {
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.text());
    expect_average_of_weights(job_of(layout), 1);
  }
}

TEST(WeightAverage, OfOtherOptimizersAndIntervals) {
  for (const char* optimizer : {"Adan", "SGD", "AdamW8bit"})
    for (const std::int64_t interval : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} {}", optimizer, interval));
      expect_average_of_weights(
          job_of({.data = world_size(), .micro = 1, .zero = 1}, optimizer, interval), interval);
    }
}

TEST(WeightAverage, IsOfMasterWeightsIn16Bits) {
  for (const int zero : {0, 1, 3}) {
    SCOPED_TRACE(zero);
    expect_average_of_weights(
        job_of({.data = world_size(), .micro = 1, .zero = zero, .type = "bf16"}), 1);
  }
}

// Runs a job to `last`; its checkpoints are every two steps.
void run_to(std::int64_t last, nlohmann::json job, const std::string& run,
            const std::string& checkpoint) {
  job["run"]["directory"] = run;
  job["run"]["steps"] = last;
  job["checkpoint"] = {{"resume", checkpoint.empty() ? "never" : checkpoint}, {"interval", 2}};
  train_to_the_end(job);
}

std::vector<float> values_in(const std::string& file, const std::string& name) {
  const CheckpointReader reader(file);
  const CheckpointTensor& tensor = reader.tensor(name);
  EXPECT_EQ(tensor.dtype, DType::f32) << name;
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
  reader.read(name, hdf5::flat_range_boxes(tensor.shape, 0, tensor.shape.elements()),
              Tensor(values.data(), {std::ssize(values)}));
  return values;
}

// Largest difference between the averages in two files; 0: the same bits.
double difference(const std::string& a, const std::string& b) {
  double most = 0.0;
  for (const CheckpointTensor& tensor : CheckpointReader(a).tensors()) {
    if (!tensor.name.starts_with(average_group)) continue;
    const auto x = values_in(a, tensor.name), y = values_in(b, tensor.name);
    for (std::size_t i = 0; i < x.size(); ++i)
      most = std::max(most, std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i])));
  }
  return most;
}

TEST(WeightAverage, AResumeGoesOnOnAnyGrid) {
  const SharedDirectory directory;
  const Layout zero1{.data = world_size(), .micro = 1, .zero = 1};
  run_to(4, job_of(zero1), directory.path("straight"), "");
  const std::string half = directory.path("straight/checkpoints/step-000002.h5");
  const std::string last = directory.path("straight/checkpoints/step-000004.h5");
  std::size_t number = 0;
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.text());
    const std::string run = directory.path(fmt::format("again{}", number++));
    run_to(4, job_of(layout), run, half);
    if (world_rank() != 0) continue;
    const double off = difference(last, run + "/checkpoints/step-000004.h5");
    const bool same_grid = layout.zero == 1;
    EXPECT_LE(off, same_grid ? 0.0 : 1e-5);
  }
}

TEST(WeightAverage, OffloadToNvmeChangesNoBit) {
  const SharedDirectory directory;
  for (const char* type : {"f32", "bf16"}) {
    auto job = job_of({.data = world_size(), .micro = 1, .zero = 3, .type = type});
    const std::string kept = directory.path(std::string("kept-") + type);
    const std::string stored = directory.path(std::string("stored-") + type);
    run_to(2, job, kept, "");
    offload_optimizer(job, directory.path());
    run_to(2, job, stored, "");
    if (world_rank() != 0) continue;
    const std::string file = "/checkpoints/step-000002.h5";
    EXPECT_EQ(difference(kept + file, stored + file), 0.0) << type;
  }
}

TEST(WeightAverage, BeginsOnAResumeFromTheWeightsAndIsDroppedByOne) {
  const SharedDirectory directory;
  auto without = job_of({.data = world_size(), .micro = 1, .zero = 1});
  without["run"].erase("ema");
  run_to(2, without, directory.path("without"), "");
  const std::string file = directory.path("without/checkpoints/step-000002.h5");
  auto with = job_of({.data = world_size(), .micro = 1, .zero = 1});
  with["checkpoint"] = {{"resume", file}};
  AveragedRun run(with);
  EXPECT_EQ(run.average(), run.weights());
  const std::vector<StateKind>& states = run.trainer.optimizer().states();
  EXPECT_THAT(average_text(CheckpointReader(file), states),
              HasSubstr("begins here, from the checkpoint's weights"));
  EXPECT_THAT(state_text(CheckpointReader(file), states), IsEmpty());
  EXPECT_EQ(run.trainer.optimizer().starts(), Optimizer::Starts{});
  run_to(2, job_of({.data = world_size(), .micro = 1}), directory.path("with"), "");
  const std::string other = directory.path("with/checkpoints/step-000002.h5");
  const OptimizerConfig config;
  EXPECT_THAT(average_text(CheckpointReader(other), states_of(config)), HasSubstr("is dropped"));
  EXPECT_THAT(average_text(CheckpointReader(other), states), IsEmpty());
  run_to(4, without, directory.path("dropped"), other);
  EXPECT_FALSE(has_average(CheckpointReader(directory.path("dropped/checkpoints/step-000004.h5"))));
}

// Weights of a frozen tensor have no average: those that are there are taken.
TEST(WeightAverage, IsWhatCommandsComputeWithIfAsked) {
  const SharedDirectory directory;
  auto job = job_of({.data = world_size(), .micro = 1, .zero = 1, .type = "bf16"});
  job["freeze"] = {"model.embed_tokens.*"};
  run_to(2, job, directory.path("run"), "");
  const std::string file = directory.path("run/checkpoints/step-000002.h5");
  export_huggingface(file, directory.path("out"),
                     {.type = DType::f32, .weights = SavedWeights::average}, MPI_COMM_WORLD);
  const ModelFiles files(file, MPI_COMM_WORLD);
  const HuggingfaceWeights exported(directory.path("out"), files.model());
  for (const GlobalTensor& tensor : global_tensors(files.model())) {
    const std::string name = average_group + tensor.name;
    EXPECT_EQ(CheckpointReader(file).contains(name), !tensor.name.starts_with("model.embed_"));
    if (!CheckpointReader(file).contains(name)) continue;
    std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
    exported.read(tensor.name, 0, Tensor(values.data(), {std::ssize(values)}));
    EXPECT_EQ(values, values_in(file, name));
    EXPECT_NE(values, values_in(file, "/master/" + tensor.name));
  }
}

TEST(WeightAverage, ThatAFileLacksIsRefused) {
  const SharedDirectory directory;
  auto job = job_of({.data = world_size(), .micro = 1});
  job["run"].erase("ema");
  run_to(1, job, directory.path("run"), "");
  const std::string file = directory.path("run/checkpoints/step-000001.h5");
  EXPECT_THAT(error_of([&] {
                export_huggingface(file, directory.path("out"), {.weights = SavedWeights::average},
                                   MPI_COMM_WORLD);
              }),
              HasSubstr("has no average of the weights (the run that wrote it kept none). "
                        "Set run.ema.decay"));
}

}  // namespace
}  // namespace triax::test
