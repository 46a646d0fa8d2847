// SPDX-License-Identifier: Apache-2.0
#include "src/commands/options/context.hpp"

#include <nlohmann/json.hpp>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "kernels/base/device/device.hpp"
#include "tests/commands/small_job.hpp"
#include "tests/io/checkpoint_fixtures.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Commands : public SmallJob {};

TEST_F(Commands, TrainLeavesARunThatGenerateContinues) {
  const Outcome trained = on_job("train");
  ASSERT_EQ(trained.status, 0) << trained.text;
  const std::string checkpoint = checkpoint_path(directory_.path("run/checkpoints"), 2);
  const std::string generate = "generate " + shell_word(checkpoint) + " --prompt li --max-tokens 5";
  const Outcome text = triax(generate);
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(text.text.substr(0, 2), "li");
  EXPECT_EQ(triax(generate).text, text.text) << "the same seed";
  EXPECT_NE(triax(generate + " --seed 5").text, text.text);
}

// The job file after a value of --set is not taken for another value.
TEST_F(Commands, OverridesStandBeforeTheJobFileAndBehindIt) {
  const std::string file = shell_word(directory_.path("job.json"));
  const std::string steps = "--set run.steps=", seed = "--set=run.seed=5";
  for (const std::string& words :
       {steps + "7 " + file, steps + "7 " + file + " " + seed, seed + " " + steps + "7 " + file,
        file + " " + steps + "7 " + seed, steps + "6 " + file + " " + steps + "7"}) {
    const Outcome config = triax("config " + words);
    EXPECT_EQ(config.status, 0) << words << '\n' << config.text;
    EXPECT_THAT(config.text, ContainsRegex("run.steps +7 ")) << words;
    const Outcome plan = triax("train --dry-run " + words);
    EXPECT_EQ(plan.status, 0) << words << '\n' << plan.text;
  }
  EXPECT_THAT(triax("train " + steps + "7 " + steps + "8").text, HasSubstr("JOB.json is required"));
}

TEST_F(Commands, ADamagedCheckpointIsNeitherContinuedNorResumed) {
  ASSERT_EQ(on_job("train").status, 0);
  const std::string checkpoint = checkpoint_path(directory_.path("run/checkpoints"), 2);
  const std::string tensor = "/model/transformer.h.0.mlp.c_fc.weight";
  flip_bit(checkpoint, hdf5::File(checkpoint, hdf5::File::Mode::read).offset(tensor) + 100, 3);
  for (const Outcome& outcome :
       {triax("generate " + shell_word(checkpoint) + " --prompt li --max-tokens 5"),
        on_job("train", "--set run.steps=3")}) {
    EXPECT_EQ(outcome.status, 3) << outcome.text;
    EXPECT_THAT(outcome.text,
                AllOf(HasSubstr(checkpoint + " is damaged"), HasSubstr(tensor + " block 0")));
  }
}

TEST_F(Commands, ARunInBf16IsInspectedAndContinued) {
  const Outcome trained = on_job("train", "--set bf16.enabled=true");
  ASSERT_EQ(trained.status, 0) << trained.text;
  const std::string checkpoint = checkpoint_path(directory_.path("run/checkpoints"), 2);
  const Outcome tensors = triax("checkpoint inspect " + shell_word(checkpoint));
  EXPECT_THAT(tensors.text,
              AllOf(ContainsRegex("/model/transformer.wte.weight +bf16 "),
                    ContainsRegex("/master/transformer.wte.weight +f32 "),
                    ContainsRegex("/optimizer/exp_avg/transformer.wte.weight +f32 ")));
  const Outcome text =
      triax("generate " + shell_word(checkpoint) + " --prompt li --max-tokens 5 2>/dev/null");
  EXPECT_EQ(text.status, 0) << text.text;
  EXPECT_EQ(text.text.substr(0, 2), "li");
  EXPECT_GT(text.text.size(), 4U);
}

TEST_F(Commands, TextGoesNoFurtherThanTheModelWasTrained) {
  ASSERT_EQ(on_job("train", "--set data.seq_length=8").status, 0);
  const std::string command = "generate " +
                              shell_word(checkpoint_path(directory_.path("run/checkpoints"), 2)) +
                              " --prompt li ";
  const Outcome text = triax(command + "--max-tokens 9");
  EXPECT_EQ(text.status, 0) << text.text;
  EXPECT_THAT(text.text,
              HasSubstr("the model was trained on sequences of 8 tokens: it sees only the last 8"));
  EXPECT_THAT(triax(command + "--max-tokens 6").text,
              testing::Not(HasSubstr("it sees only the last")));
}

TEST_F(Commands, LinesOfAnFp16RunCarryItsScale) {
  const Outcome trained = on_job("train", "--set fp16.enabled=true --set fp16.loss_scale=128");
  ASSERT_EQ(trained.status, 0) << trained.text;
  EXPECT_THAT(contents(directory_.path("run/metrics.jsonl")),
              HasSubstr(R"("loss_scale":128.0,"skipped":false)"));
}

TEST_F(Commands, AnExportIsImportedContinuedAndTrained) {
  ASSERT_EQ(on_job("train").status, 0);
  const std::string out = directory_.path("out");
  const std::string file = directory_.path("imported.h5");
  const std::string checkpoint = checkpoint_path(directory_.path("run/checkpoints"), 2);
  const std::string to_out = " --to huggingface " + shell_word(out);
  const Outcome exported = triax("checkpoint export " + shell_word(checkpoint) + to_out);
  EXPECT_EQ(exported.status, 0);
  EXPECT_THAT(exported.text, HasSubstr(out + ": 16 tensors, f32, "));
  const Outcome imported =
      triax("checkpoint import " + shell_word(out) + " --out " + shell_word(file));
  EXPECT_EQ(imported.status, 0) << imported.text;
  EXPECT_THAT(imported.text, HasSubstr("step 0, no optimizer state"));
  EXPECT_EQ(triax("generate " + shell_word(file) + " --prompt li --max-tokens 5").text,
            triax("generate " + shell_word(checkpoint) + " --prompt li --max-tokens 5").text);
  EXPECT_EQ(triax("checkpoint inspect " + shell_word(file)).status, 0);
  const std::string weights = contents(out + "/model.safetensors");
  const Outcome twice = triax("checkpoint export " + shell_word(file) + to_out);
  EXPECT_EQ(twice.status, 2);
  EXPECT_THAT(twice.text, HasSubstr("holds a model"));
  EXPECT_EQ(
      triax_on(2, "checkpoint export " + shell_word(file) + to_out + " --force --shard-size 4kB")
          .status,
      0);
  EXPECT_EQ(triax("checkpoint export " + shell_word(file) + to_out + " --force").status, 0);
  EXPECT_EQ(contents(out + "/model.safetensors"), weights);
  const Outcome trained =
      on_job("train", "--set checkpoint.resume=" + shell_word(file) +
                          " --set run.directory=" + shell_word(directory_.path("more")));
  EXPECT_EQ(trained.status, 0);
  EXPECT_THAT(trained.text,
              AllOf(HasSubstr("after 0 of 2 steps"), HasSubstr("moments start from zero")));
}

TEST_F(Commands, ExportAndImportSayWhatIsWrong) {
  const std::string file = directory_.file("x.h5", "no checkpoint");
  EXPECT_EQ(triax("checkpoint export " + shell_word(file)).status, 2) << "--to is missing";
  EXPECT_EQ(triax("checkpoint export " + shell_word(file) + " --to gguf out").status, 2);
  EXPECT_EQ(
      triax("checkpoint export " + shell_word(file) + " --to huggingface out --dtype f64").status,
      2);
  EXPECT_EQ(triax("checkpoint export " + shell_word(file) + " --to huggingface out --shard-size -1")
                .status,
            2);
  EXPECT_EQ(triax("checkpoint export " + shell_word(file) + " --to huggingface " +
                  shell_word(directory_.path("out")))
                .status,
            3);
  const Outcome missing =
      triax_on(2, "checkpoint import none --out " + shell_word(file) + " --force");
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.text, HasSubstr("none/config.json"));
  // An existing target is an error of the user, also a dangling link.
  const std::string link = directory_.path("link.h5");
  std::filesystem::create_symlink(directory_.path("elsewhere.h5"), link);
  for (const std::string& taken : {file, link}) {
    const Outcome there = triax_on(2, "checkpoint import none --out " + shell_word(taken));
    EXPECT_EQ(there.status, 2);
    EXPECT_THAT(there.text, AllOf(HasSubstr(taken + " is there already"), HasSubstr("--force")));
  }
}

TEST_F(Commands, GpusThatAreAskedForAndNotThereAreTheUsersError) {
  if (device_count() > 0) GTEST_SKIP() << "this machine has a GPU";
  const Outcome run = on_job("train", "--set run.device=gpu");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.text, HasSubstr("run.device is gpu, and rank 0 finds none"));
  EXPECT_FALSE(std::filesystem::exists(directory_.path("run")));
  // Planning for GPUs needs none.
  const Outcome plan = on_job("train", "--dry-run --json --set run.device=gpu 2>/dev/null");
  EXPECT_EQ(plan.status, 0);
  const auto rank = nlohmann::json::parse(plan.text)["ranks"][0];
  EXPECT_GT(rank["device"]["optimizer"], 0);
  EXPECT_EQ(rank["host"]["optimizer"], 0);
  constexpr std::int64_t of_the_program = std::int64_t{10} << 20;
  EXPECT_GT(rank["host"]["buffers"], of_the_program) << "the program is on the host";
}

TEST_F(Commands, ImpossibleSizesAreTheUsersErrorBeforeAnythingIsMade) {
  const Outcome large = on_job("train", "--set model.n_embd=10000000");
  EXPECT_EQ(large.status, 2);
  EXPECT_THAT(large.text, HasSubstr("does not fit this machine's memory"));
  EXPECT_FALSE(std::filesystem::exists(directory_.path("run")));
  EXPECT_EQ(on_job("train",
                   "--print-plan --set train_batch_size=1000000000000 --set "
                   "train_micro_batch_size_per_gpu=1")
                .status,
            2);
}

// The memory planned before the run and the memory used are both reported.
TEST_F(Commands, ARunReportsWhatItUsedBesideWhatWasPlanned) {
  const Outcome run = on_job("train");
  ASSERT_EQ(run.status, 0) << run.text;
  EXPECT_THAT(run.text, AllOf(HasSubstr("ZeRO-0: "), HasSubstr("rank 0 was planned to hold"),
                              HasSubstr("rank 0 has used"), HasSubstr("buffers")));
}

TEST_F(Commands, ConfigShowsAJobWhoseDataAreMissing) {
  const Outcome shown = on_job("config", "--set data.train=gone.txt");
  EXPECT_EQ(shown.status, 0);
  EXPECT_THAT(shown.text, AllOf(HasSubstr("data.train"), HasSubstr("no such file: gone.txt")));
  const Outcome quiet = on_job("config", "--json --set data.train=gone.txt 2>/dev/null");
  EXPECT_THAT(quiet.text, Not(HasSubstr("no such file")));
  EXPECT_EQ(on_job("train", "--set data.train=gone.txt").status, 2);
}

// Libraries end the process without a message if the address space is too small; triax refuses the
// job before.
TEST_F(Commands, AnAddressSpaceWithoutRoomForLibrariesIsRefused) {
  const auto within = [&](int mib, const std::string& arguments) {
    return outcome_of_script(fmt::format("export OMP_NUM_THREADS=1; ulimit -v {}; exec {}",
                                         mib * 1024, command_of(arguments)));
  };
  int mib = 100;  // the program itself; more in a build for GPUs, whose libraries are large
  while (mib < 4000 && within(mib, "--version").status != 0) mib += 32;
  bool refused = false;
  bool ran = false;
  for (const int end = mib + 256; mib <= end && !ran; mib += 8) {
    const Outcome outcome = within(mib, "train " + shell_word(directory_.path("job.json")));
    if (outcome.text.find("ulimit -v") != std::string::npos) {
      EXPECT_EQ(outcome.status, 3) << mib << " MiB: " << outcome.text;
      EXPECT_THAT(outcome.text, HasSubstr("Raise that limit: ulimit -v unlimited"));
      refused = true;
    } else if (refused) {
      EXPECT_EQ(outcome.status, 0) << mib << " MiB: " << outcome.text;
      ran = true;
    }
  }
  EXPECT_TRUE(refused && ran);
}

}  // namespace
}  // namespace triax::test
