// SPDX-License-Identifier: Apache-2.0
// Checkpoints of every element type and ZeRO stage, resumed with every other.
#include <algorithm>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/load/checkpoint_loader.hpp"
#include "io/checkpoint/load/loader_options.hpp"
#include "io/checkpoint/write/segment_writer.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

std::vector<Layout> layouts_of_types() {
  if (world_size() == 4)
    return {{.tensor = 2, .data = 2, .micro = 1},
            {.pipeline = 2, .data = 2, .micro = 1, .zero = 3, .type = "bf16"},
            {.data = 4, .micro = 1, .zero = 3, .type = "fp16"}};
  std::vector<Layout> all;
  for (const char* type : {"f32", "bf16", "fp16"})
    for (const int zero : {0, 3}) {
      if (zero > 0 && world_size() == 1) continue;
      all.push_back({.data = world_size(), .micro = 1, .zero = zero, .type = type});
    }
  return all;
}

nlohmann::json job_in(const std::string& directory, const Layout& layout) {
  auto job = golden_job(read_golden("gpt2-deep"), layout);
  job["run"] = {{"directory", directory}, {"steps", 4}, {"progress", "none"}};
  if (layout.type == "fp16") job["fp16"]["initial_scale_power"] = 10;  // no step is skipped
  return job;
}

// Losses of steps 2 and 3 of four, resumed after the second step.
std::vector<double> resumed_losses(const std::string& file, const std::string& directory,
                                   const Layout& layout) {
  auto job = job_in(directory, layout);
  job["checkpoint"]["resume"] = file;
  const LoadedJob loaded = load(job, world_size());
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, loaded.config);
  Trainer trainer(loaded, grid);
  EXPECT_EQ(trainer.first_step(), 2);
  return {trainer.train_step(2).loss, trainer.train_step(3).loss};
}

TEST(CheckpointTypes, EachResumesEveryOther) {
  const SharedDirectory directory;
  for (const Layout& saved : layouts_of_types()) {
    const std::string run = directory.path(saved.type + std::to_string(saved.zero));
    auto job = job_in(run, saved);
    job["checkpoint"] = {{"resume", "never"}, {"interval", 2}, {"at_end", false}};
    const std::vector<double> straight = losses_of(train(MPI_COMM_WORLD, job, 4));
    train_to_the_end(job);
    for (const Layout& resumed : layouts_of_types()) {
      SCOPED_TRACE(saved.text() + " resumed by " + resumed.text());
      const std::vector<double> losses =
          resumed_losses(run + "/checkpoints/step-000002.h5", directory.path("resumed"), resumed);
      const bool same = saved.type == resumed.type && saved.zero == resumed.zero;
      const double tolerance = same ? 0.0 : saved.type == resumed.type ? 2e-4 : 2e-3;
      for (std::size_t i = 0; i < 2; ++i)
        EXPECT_NEAR(losses[i], straight[i + 2], tolerance * straight[i + 2]) << "step " << i + 2;
    }
  }
}

// Pieces larger than the bounce buffer pass through it part by part: columns of c_attn when saved,
// and everything that is rounded when restored.
TEST(CheckpointTypes, PiecesLargerThanTheStagingBuffer) {
  if (world_size() > 2) return;
  const SharedDirectory directory;
  auto job = job_in(directory.path("run"), {.tensor = world_size(), .micro = 1, .type = "bf16"});
  job["model"] = {{"architecture", "gpt2"}, {"n_layer", 1},   {"n_head", 2},
                  {"n_inner", 8},           {"n_embd", 1456}, {"n_positions", 64},
                  {"vocab_size", 1600}};
  job["run"]["steps"] = 1;
  job["checkpoint"]["at_end"] = true;
  train_to_the_end(job);
  const std::string file = directory.path("run/checkpoints/step-000001.h5");
  job["checkpoint"] = {{"resume", file}, {"at_end", false}, {"collective", false}};
  const LoadedJob loaded = load(job, world_size());
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, loaded.config);
  const Trainer trainer(loaded, grid);
  constexpr std::int64_t hdf5 = std::int64_t{6} << 20;
  constexpr std::int64_t moved = std::max(loading_bytes_at_once, independent_bytes);
  EXPECT_EQ(trainer.allocations().staging, staged_elements * 4 + moved + hdf5);
  const GlobalValues weights =
      collect(grid, loaded.config.model, trainer.store(), weights_of(trainer.store()));
  const CheckpointReader reader(file);
  for (const std::string name : {"transformer.wte.weight", "transformer.h.0.attn.c_attn.weight"}) {
    const auto& found = weights.at(name);
    ASSERT_GT(std::ssize(found) / world_size(), staged_elements) << name;
    const Shape shape = reader.shape("/model/" + name);
    std::vector<float> saved(found.size());
    for (const char* group : {"/model/", "/master/"}) {
      reader.read(group + name, hdf5::flat_range_boxes(shape, 0, shape.elements()),
                  Tensor(saved.data(), shape));
      for (float& value : saved) value = static_cast<float>(Bf16(value));
      EXPECT_EQ(found, saved) << name << group;
    }
  }
}

// A float32 run resumes a 16-bit run from its float32 master weights.
TEST(CheckpointTypes, MasterWeightsLoseNothing) {
  const SharedDirectory directory;
  auto job =
      job_in(directory.path("run"), {.data = world_size(), .micro = 1, .zero = 1, .type = "bf16"});
  job["run"]["steps"] = 1;
  job["checkpoint"]["at_end"] = true;
  train_to_the_end(job);
  for (const char* section : {"bf16", "data_types"}) job.erase(section);
  job["checkpoint"] = {{"resume", directory.path("run/checkpoints/step-000001.h5")},
                       {"at_end", false}};
  const LoadedJob loaded = load(job, world_size());
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, loaded.config);
  const Trainer trainer(loaded, grid);
  const GlobalValues weights =
      collect(grid, loaded.config.model, trainer.store(), weights_of(trainer.store()));
  const CheckpointReader reader(directory.path("run/checkpoints/step-000001.h5"));
  const auto& found = weights.at("transformer.h.1.mlp.c_fc.weight");
  const Shape shape = reader.shape("/master/transformer.h.1.mlp.c_fc.weight");
  std::vector<float> master(found.size()), model(found.size());
  const auto read = [&](const char* group, std::vector<float>& to) {
    reader.read(group + std::string("transformer.h.1.mlp.c_fc.weight"),
                hdf5::flat_range_boxes(shape, 0, shape.elements()), Tensor(to.data(), shape));
  };
  read("/master/", master);
  read("/model/", model);
  EXPECT_EQ(found, master);
  EXPECT_NE(found, model);
  for (std::size_t i = 0; i < model.size(); ++i)
    ASSERT_EQ(model[i], static_cast<float>(Bf16(master[i])));
}

TEST(CheckpointTypes, MasterIsThereFor16BitsOnlyAndTheModelHasItsType) {
  for (const auto& [type, dtype] :
       {std::pair{"f32", DType::f32}, {"bf16", DType::bf16}, {"fp16", DType::f16}}) {
    SCOPED_TRACE(type);
    const SharedDirectory directory;
    auto job =
        job_in(directory.path("run"), {.data = world_size(), .micro = 1, .zero = 3, .type = type});
    job["run"]["steps"] = 1;
    job["checkpoint"]["at_end"] = true;
    train_to_the_end(job);
    std::size_t masters = 0, parameters = 0;
    const CheckpointReader reader(directory.path("run/checkpoints/step-000001.h5"));
    for (const CheckpointTensor& tensor : reader.tensors()) {
      const bool of_model = tensor.name.starts_with("/model/");
      EXPECT_EQ(tensor.dtype, of_model ? dtype : DType::f32) << tensor.name;
      masters += tensor.name.starts_with("/master/") ? 1 : 0;
      parameters += of_model ? 1 : 0;
    }
    EXPECT_EQ(masters, dtype == DType::f32 ? 0 : parameters);
    EXPECT_EQ(reader.header().loss_scale.empty(), dtype != DType::f16);
  }
}

}  // namespace
}  // namespace triax::test
