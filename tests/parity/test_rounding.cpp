// SPDX-License-Identifier: Apache-2.0
// Stochastically rounded weights: the random words belong to the elements, so results depend
// neither on the layout nor on a resume.
#include <gtest/gtest.h>

#include "io/checkpoint/checkpoint_header.hpp"
#include "kernels/optimizer/stochastic_rounding.hpp"
#include "kernels/random/random.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

std::vector<Layout> layouts() {
  if (world_size() == 1) return {{.micro = 4}};
  if (world_size() == 2)
    return {{.tensor = 2, .micro = 4},
            {.pipeline = 2, .micro = 2},
            {.data = 2, .micro = 4},
            {.data = 2, .micro = 2, .zero = 1},
            {.data = 2, .micro = 2, .zero = 3}};
  return {{.tensor = 2, .pipeline = 2, .micro = 4},
          {.tensor = 2, .data = 2, .micro = 2, .zero = 3},
          {.tensor = 4, .micro = 4},
          {.data = 4, .micro = 2, .zero = 1}};
}

nlohmann::json rounding_job(const char* golden, Layout layout, const char* type) {
  layout.type = type;
  auto job = golden_job(read_golden(golden), layout);
  job["optimizer"]["params"]["stochastic_rounding"] = true;
  if (layout.type == "fp16") job["fp16"]["initial_scale_power"] = 10;  // no step is skipped
  return job;
}

// Compares the 16-bit weights after a step with the float32 masters that they were rounded from.
// Every rank has these weights (ZeRO-3 gathers them only for the next step).
void expect_rounded_by_number(const nlohmann::json& text) {
  const LoadedJob job = load(text, world_size());
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, job.config);
  Trainer trainer(job, grid);
  trainer.train_step(0);
  const GlobalValues weights =
      collect(grid, job.config.model, trainer.store(), weights_of(trainer.store()));
  const GlobalValues masters = collect(grid, job.config.model, trainer.store(), [&](int block) {
    return trainer.optimizer().kept_state(block).master;
  });
  const std::uint64_t seed = mix_key(job.config.run.seed, "rounding");
  const bool bf16 = job.config.precision.type == DType::bf16;
  std::int64_t elsewhere = 0, all = 0;
  for (const auto& [name, values] : weights) {
    const std::vector<float>& from = masters.at(name);
    std::vector<std::uint32_t> words(values.size());
    random_words(words.data(), std::ssize(words), mix_key(mix_key(seed, name), 1), 0);
    for (std::size_t i = 0; i < values.size(); ++i, ++all) {
      const float expected = bf16 ? rounded_stochastically<Bf16>(from[i], words[i])
                                  : rounded_stochastically<F16>(from[i], words[i]);
      ASSERT_EQ(values[i], expected) << name << " " << i;
      elsewhere += expected != (bf16 ? float{Bf16(from[i])} : float{F16(from[i])}) ? 1 : 0;
    }
  }
  EXPECT_GT(elsewhere, all / 8) << "others than to nearest";
}

TEST(Rounding, GoesByTheNumberOfTheElementOnEveryLayout) {
  for (const char* model : {"gpt2-tiny", "llama-tiny"})
    for (const Layout& layout : layouts()) {
      const GoldenCase golden = read_golden(model);
      if (!carries(golden, layout)) continue;
      SCOPED_TRACE(std::string(model) + " " + layout.text());
      for (const char* type : {"bf16", "fp16"})
        expect_rounded_by_number(rounding_job(model, layout, type));
    }
}

TEST(Rounding, ARunGoesOnFromAFileBitForBit) {
  constexpr int steps = 4;
  for (const Layout& layout : {layouts().front(), layouts().back()}) {
    SCOPED_TRACE(layout.text());
    const SharedDirectory directory;
    auto job = rounding_job("gpt2-tiny", layout, "bf16");
    job["run"] = {{"directory", directory.path()}, {"steps", steps}, {"progress", "none"}};
    job["checkpoint"] = {{"resume", "never"}, {"interval", 2}, {"at_end", false}};
    const auto straight = train(MPI_COMM_WORLD, job, steps);
    train_to_the_end(job);
    job["checkpoint"]["resume"] = directory.path("checkpoints/step-000002.h5");
    const LoadedJob loaded = load(job, world_size());
    ProcessGrid grid = make_grid(MPI_COMM_WORLD, loaded.config);
    Trainer trainer(loaded, grid);
    std::vector<StepMetrics> resumed;
    for (std::int64_t step = 2; step < steps; ++step) resumed.push_back(trainer.train_step(step));
    expect_same_bits(resumed, {straight.begin() + 2, straight.end()});
    job["optimizer"]["params"].erase("stochastic_rounding");
    job["checkpoint"]["resume"] = "never";
    EXPECT_NE(losses_of(train(MPI_COMM_WORLD, job, steps)), losses_of(straight));
  }
}

}  // namespace
}  // namespace triax::test
