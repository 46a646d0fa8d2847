#include "src/commands.hpp"

#include <nlohmann/json.hpp>

#include "io/checkpoint_file.hpp"
#include "tests/commands/small_job.hpp"
#include "tests/io/checkpoint_fixtures.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::Contains;
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
  const Outcome text = triax("generate " + shell_word(checkpoint) + " --prompt li --max-tokens 5");
  EXPECT_EQ(text.status, 0) << text.text;
  EXPECT_EQ(text.text.substr(0, 2), "li");
  EXPECT_GT(text.text.size(), 4U);
}

TEST_F(Commands, TextGoesNoFurtherThanTheModelWasTrained) {
  ASSERT_EQ(on_job("train", "--set data.seq_length=8").status, 0);
  const std::string command =
      "generate " + checkpoint_path(directory_.path("run/checkpoints"), 2) + " --prompt li ";
  const Outcome text = triax(command + "--max-tokens 9");
  EXPECT_EQ(text.status, 0) << text.text;
  EXPECT_THAT(text.text,
              HasSubstr("the model was trained on sequences of 8 tokens: it sees the last 8"));
  EXPECT_THAT(triax(command + "--max-tokens 6").text, testing::Not(HasSubstr("was trained on")));
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
  // A target that is there is the user's to choose anew: also a link to what is not here now.
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
  // A plan for them needs none.
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

TEST_F(Commands, ADryRunPrintsAndLeavesNothing) {
  const Outcome table = on_job("train", "--dry-run");
  EXPECT_EQ(table.status, 0) << table.text;
  EXPECT_THAT(table.text, AllOf(HasSubstr("stage 0: rank 0"), HasSubstr("no messages")));
  const Outcome json = on_job("train", "--dry-run --json --set parallel.data=2 2>/dev/null");
  EXPECT_EQ(json.status, 0);
  const auto parsed = nlohmann::json::parse(json.text);
  EXPECT_EQ(parsed["ranks"].size(), 2U);
  EXPECT_GT(parsed["messages"]["data"]["count"], 0);
  EXPECT_FALSE(std::filesystem::exists(directory_.path("run")));
  const Outcome run = on_job("train", "--json");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.text, HasSubstr("--json is for what --dry-run and --print-plan print"));
}

TEST_F(Commands, ADryRunAndAPlanAreBothPrinted) {
  const Outcome both = on_job("train", "--dry-run --print-plan");
  EXPECT_EQ(both.status, 0) << both.text;
  EXPECT_THAT(both.text, AllOf(HasSubstr("F c0 l0 m0"), HasSubstr("stage 0: rank 0")));
}

TEST_F(Commands, APlanIsPrintedAsJsonToo) {
  for (const std::string dry : {"", "--dry-run "}) {
    const Outcome outcome = on_job("train", "--print-plan --json " + dry + "2>/dev/null");
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    const auto json = nlohmann::json::parse(outcome.text);
    ASSERT_EQ(json["stages"].size(), 1U);
    EXPECT_THAT(json["stages"][0].get<std::vector<std::string>>(), Contains("F c0 l0 m0"));
    EXPECT_EQ(json.contains("ranks"), !dry.empty());
  }
}

TEST_F(Commands, ADryRunThatDoesNotFitPrintsTheTableAndSaysSo) {
  const Outcome large = on_job("train", "--dry-run --set model.n_embd=100000");
  EXPECT_EQ(large.status, 2);
  EXPECT_THAT(large.text, AllOf(HasSubstr("room for 0 such"), HasSubstr("does not fit"),
                                HasSubstr("Settings that shrink it, the most effective first")));
}

// The program says before the run what it holds behind it.
TEST_F(Commands, ARunReportsWhatItUsedBesideWhatWasPlanned) {
  const Outcome run = on_job("train");
  ASSERT_EQ(run.status, 0) << run.text;
  EXPECT_THAT(run.text, AllOf(HasSubstr("ZeRO stage 0"), HasSubstr("rank 0 was to hold"),
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

TEST_F(Commands, APlanNeedsNoData) {
  const Outcome plan = on_job("train", "--print-plan --set data.train=gone.txt");
  EXPECT_EQ(plan.status, 0) << plan.text;
  EXPECT_THAT(plan.text, AllOf(HasSubstr("F c0 l0 m0"), HasSubstr("no such file: gone.txt")));
  const Outcome dry = on_job("train", "--dry-run --set data.train=gone.txt");
  EXPECT_EQ(dry.status, 0) << dry.text;
  EXPECT_THAT(dry.text, AllOf(HasSubstr("stage 0: rank 0"), HasSubstr("no such file: gone.txt")));
  const Outcome here = on_job("train", "--print-plan");
  EXPECT_THAT(here.text, Not(HasSubstr("missing")));
}

// Hybrid sharding cuts state within nodes, which a plan made by one process has to be told.
TEST_F(Commands, APlanOfOneProcessSaysWhatItTakesForNodes) {
  const std::string hybrid =
      "--dry-run --json --set parallel.data=8 --set train_batch_size=8 "
      "--set fsdp.sharding_strategy=HYBRID_SHARD ";
  const Outcome one_node = on_job("train", hybrid);
  EXPECT_EQ(one_node.status, 0);
  EXPECT_THAT(one_node.text, HasSubstr("taken as one node of 8 ranks, so state is cut over all 8"));
  EXPECT_THAT(on_job("train", hybrid + "--ranks-per-node 2").text,
              HasSubstr("nodes of 2 ranks, state is cut over 2 of the 8 data ranks"));
  const auto parameters = [&](const std::string& more) {
    const Outcome json = on_job("train", hybrid + more + " 2>/dev/null");
    return nlohmann::json::parse(json.text)["ranks"][0]["device"]["parameters"].get<double>();
  };
  EXPECT_NEAR(parameters("--ranks-per-node 2"), 4 * parameters(""), 0.2 * parameters(""));
  EXPECT_EQ(parameters("--ranks-per-node 8"), parameters(""));
  EXPECT_THAT(on_job("train", "--dry-run").text, Not(HasSubstr("node")));
  const Outcome split = on_job("train", "--dry-run --ranks-per-node 1 --set parallel.tensor=2");
  EXPECT_EQ(split.status, 2);
  EXPECT_THAT(split.text, HasSubstr("a tensor group of 2 ranks spans nodes"));
}

TEST_F(Commands, ThePlanOfManyRanksIsThatOfTheirNodes) {
  const std::string plan = "train " + shell_word(directory_.path("job.json")) +
                           " --print-plan --set fsdp.sharding_strategy=HYBRID_SHARD "
                           "--set train_batch_size=4 --set parallel.data=";
  const Outcome many = triax_on(2, plan + "2 2>/dev/null");
  ASSERT_EQ(many.status, 0) << many.text;
  EXPECT_EQ(many.text, triax(plan + "2 2>/dev/null").text);
  EXPECT_THAT(many.text, Not(HasSubstr("taken as")));
  EXPECT_NE(triax(plan + "4 --ranks-per-node 2 2>/dev/null").text,
            triax(plan + "4 2>/dev/null").text);
  const Outcome told = triax_on(2, plan + "2 --ranks-per-node 1");
  EXPECT_EQ(told.status, 2);
  EXPECT_THAT(told.text, HasSubstr("the nodes of these 2 ranks are known"));
  EXPECT_THAT(on_job("train", "--ranks-per-node 1").text, HasSubstr("is for a plan"));
}

TEST_F(Commands, APlanOfOneProcessSaysWhichGridItTook) {
  EXPECT_THAT(on_job("train", "--dry-run --set parallel.pipeline=1").text,
              HasSubstr("planned for 1 rank(s), data 1 x pipeline 1 x tensor 1"));
  EXPECT_THAT(on_job("train", "--print-plan --set parallel.tensor=2").text,
              HasSubstr("planned for 2 rank(s), data 1 x pipeline 1 x tensor 2"));
}

// Each of the ranks fits the machine, and all of them together do not.
TEST_F(Commands, RanksOfANodeMustFitItTogether) {
  const std::string many = "--set parallel.data=100000 --set train_batch_size=100000 ";
  EXPECT_EQ(on_job("train", "--dry-run --json " + many + ">/dev/null").status, 0);
  for (const char* what : {"--dry-run --json ", "--print-plan "}) {
    const Outcome node = on_job("train", what + many + "--ranks-per-node 100000 2>&1 >/dev/null");
    EXPECT_EQ(node.status, 2) << what;
    EXPECT_THAT(node.text, HasSubstr("100000 rank(s) there need")) << what;
  }
}

// Too little address space ends libraries without a word: the job is refused before.
TEST_F(Commands, AnAddressSpaceWithoutRoomForLibrariesIsRefused) {
  const auto within = [&](int mib, const std::string& arguments) {
    return outcome_of_script(fmt::format("export OMP_NUM_THREADS=1; ulimit -v {}; exec {}",
                                         mib * 1024, command_of(arguments)));
  };
  int mib = 100;  // the program itself; more in a build for GPUs, whose libraries are large
  while (mib < 4000 && within(mib, "--version").status != 0) mib += 32;
  bool refused = false;
  bool ran = false;
  for (const int end = mib + 160; mib <= end && !ran; mib += 8) {
    const Outcome outcome = within(mib, "train " + shell_word(directory_.path("job.json")));
    if (outcome.text.find("ulimit -v") != std::string::npos) {
      EXPECT_EQ(outcome.status, 2) << mib << " MiB: " << outcome.text;
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
