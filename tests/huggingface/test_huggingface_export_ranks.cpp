// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/huggingface/huggingface_export.hpp"
#include "tests/huggingface/huggingface_fixtures.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

class SharedExport : public testing::Test {
 protected:
  void SetUp() override {
    if (world_rank() == 0)
      import_huggingface(read_golden("gpt2-deep").directory, directory_.path("c.h5"), {});
    MPI_Barrier(MPI_COMM_WORLD);
  }
  SharedDirectory directory_;
};

TEST_F(SharedExport, IsThatOfOneRank) {
  const ExportOptions options{.type = DType::bf16, .shard_bytes = 10'000};
  const ExportSummary sum = export_huggingface(directory_.path("c.h5"), directory_.path("shared"),
                                               options, MPI_COMM_WORLD);
  EXPECT_GT(sum.files, 4);
  if (world_rank() != 0) return;
  export_huggingface(directory_.path("c.h5"), directory_.path("alone"), options, MPI_COMM_NULL);
  std::int64_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path("alone"))) {
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(contents(directory_.path("shared/" + name)), contents(entry.path().string())) << name;
    ++files;
  }
  EXPECT_EQ(files, sum.files + 2) << "an index and config.json";
}

TEST_F(SharedExport, FailsOnAllRanksAlike) {
  const auto error = error_of([&] {
    const FileSizeLimit limit(world_rank() == world_size() - 1 ? 1024 : RLIM_INFINITY);
    export_huggingface(directory_.path("c.h5"), directory_.path("out"), {.shard_bytes = 10'000},
                       MPI_COMM_WORLD);
  });
  EXPECT_THAT(error, HasSubstr("no room"));
  MPI_Barrier(MPI_COMM_WORLD);  // all ranks have removed their files
  std::error_code absent;
  EXPECT_TRUE(!std::filesystem::exists(directory_.path("out")) ||
              std::filesystem::is_empty(directory_.path("out"), absent));
}

// Each rank exports as a separate command. One gets the directory; the others' errors name it, or
// say that the directory holds a model.
TEST_F(SharedExport, OfSeveralAtOnceOneWins) {
  const std::vector<DType> types = {DType::f32, DType::bf16, DType::f16, DType::f32};
  const DType type = types.at(static_cast<std::size_t>(world_rank()));
  const auto error = error_of([&] {
    export_huggingface(directory_.path("c.h5"), directory_.path("out"),
                       {.type = type, .shard_bytes = 5'000 * (1 + world_rank())}, MPI_COMM_SELF);
  });
  if (!error.empty()) {
    EXPECT_THAT(error, testing::AnyOf(HasSubstr("another command writes"),
                                      HasSubstr("holds a model"), HasSubstr("is there already")));
  }
  int winner = error.empty() ? world_rank() : 0;
  int winners = error.empty() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &winner, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  ASSERT_EQ(winners, 1);
  if (world_rank() != winner) return;
  export_huggingface(directory_.path("c.h5"), directory_.path("alone"),
                     {.type = type, .shard_bytes = 5'000 * (1 + world_rank())}, MPI_COMM_NULL);
  EXPECT_EQ(bits_of(directory_.path("out")), bits_of(directory_.path("alone")));
  const auto count = [&](const char* name) {
    const std::filesystem::directory_iterator entries(directory_.path(name));
    return std::distance(begin(entries), end(entries));
  };
  EXPECT_EQ(count("out"), count("alone")) << "nothing of the others";
}

// A job that exports at its end, with a grid of all ranks.
nlohmann::json exporting_job(const std::string& directory, const std::string& type) {
  Layout layout{.data = world_size(), .zero = 3, .type = type};
  if (world_size() == 4) layout = {.tensor = 2, .data = 2, .zero = 3, .type = type};
  auto job = golden_job(read_golden("gpt2-odd"), layout);
  job["run"]["directory"] = directory;
  job["run"]["steps"] = 2;
  job["checkpoint"] = {{"resume", "auto"}, {"at_end", true}};
  job["zero_optimization"]["stage3_gather_16bit_weights_on_model_save"] = true;
  return job;
}

void expect_rounded_model(const std::string& checkpoint, const std::string& directory, DType type) {
  const CheckpointReader reader(checkpoint);
  for (const auto& [name, bits] : bits_of(directory)) {
    std::vector<float> values(bits.size());
    const Shape shape = reader.shape("/model/" + name);
    reader.read("/model/" + name, {{{}, shape}}, Tensor(values.data(), {std::ssize(values)}));
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float expected = type == DType::f16 ? static_cast<float>(F16(values[i]))
                                                : static_cast<float>(Bf16(values[i]));
      wrong += std::bit_cast<std::uint32_t>(expected) != bits[i] ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0) << name;
  }
  EXPECT_EQ(SafetensorsReader(directory).entries().begin()->second.dtype, type);
}

TEST(FinalExport, HasTheWeightsOfTheLastCheckpointIn16Bits) {
  for (const std::string type : {"f32", "bf16", "fp16"}) {
    SCOPED_TRACE(type);
    const SharedDirectory directory;
    train_to_the_end(exporting_job(directory.path("run"), type));
    if (world_rank() == 0)
      expect_rounded_model(directory.path("run/checkpoints/step-000002.h5"),
                           directory.path("run/huggingface"),
                           type == "fp16" ? DType::f16 : DType::bf16);
  }
}

TEST(FinalExport, NeedsNoCheckpoint) {
  const SharedDirectory directory;
  train_to_the_end(exporting_job(directory.path("with"), "bf16"));
  auto job = exporting_job(directory.path("without"), "bf16");
  job["checkpoint"]["at_end"] = false;
  train_to_the_end(job);
  if (world_rank() != 0) return;
  EXPECT_EQ(bits_of(directory.path("with/huggingface")),
            bits_of(directory.path("without/huggingface")));
  EXPECT_FALSE(std::filesystem::exists(directory.path("without/huggingface.h5")));
  EXPECT_TRUE(list_checkpoints(directory.path("without/checkpoints")).empty());
}

// The case of a run that is repeated because its export failed.
TEST(FinalExport, IsMadeWhereNothingIsLeftToTrain) {
  const SharedDirectory directory;
  const auto job = exporting_job(directory.path("run"), "f32");
  train_to_the_end(job);
  if (world_rank() == 0) std::filesystem::remove_all(directory.path("run/huggingface"));
  MPI_Barrier(MPI_COMM_WORLD);
  train_to_the_end(job);
  if (world_rank() == 0)
    expect_rounded_model(directory.path("run/checkpoints/step-000002.h5"),
                         directory.path("run/huggingface"), DType::bf16);
}

}  // namespace
}  // namespace triax::test
