// SPDX-License-Identifier: Apache-2.0
// Files that runs leave, and runs that must stop.
#include <unistd.h>

#include <numeric>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/files/file_lock.hpp"
#include "tests/commands/small_job.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Runs : public SmallJob {};

TEST_F(Runs, AJobJsonMeansTheSameInAnotherDirectory) {
  const auto in = [](const std::string& directory, const std::string& arguments) {
    return outcome_of_script("cd " + shell_word(directory) + " && " +
                             command_of("train " + arguments));
  };
  const Outcome first = in(directory_.path(), "job.json --set run.directory=here");
  ASSERT_EQ(first.status, 0) << first.text;
  const Outcome second =
      in("/proc", shell_word(directory_.path("here/job.json")) + " --set run.steps=3");
  EXPECT_EQ(second.status, 0) << second.text;
  EXPECT_THAT(second.text, AllOf(HasSubstr("resumed from " + directory_.path("here/checkpoints")),
                                 Not(HasSubstr("resumed with another"))));
}

// A Llama model from a config.json, trained further with a longer context.
TEST_F(Runs, SayWhatIsAnotherInTheModel) {
  directory_.file("llama.json", R"({"model_type": "llama", "num_hidden_layers": 1,
      "num_hidden_layer": 9, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 20,
      "vocab_size": 256, "max_position_embeddings": 16,
      "rope_parameters": {"rope_type": "linear", "factor": 2, "rope_theta": 100.0}})");
  directory_.file("job.json", R"({"model": {"config": "llama.json"}, "data": {"train": "text.txt"},
      "run": {"directory": ")" + directory_.path("run") +
                                  R"("}, "train_batch_size": 2})");
  const Outcome first = on_job("train", "--set run.steps=1");
  EXPECT_EQ(first.status, 0) << first.text;
  EXPECT_THAT(first.text, HasSubstr("num_hidden_layer (is num_hidden_layers meant?)"));
  const Outcome second = on_job("train",
                                "--set run.steps=2 --set model.max_position_embeddings=32 "
                                "--set model.rope_scaling.factor=4");
  EXPECT_EQ(second.status, 0) << second.text;
  EXPECT_THAT(second.text, AllOf(HasSubstr("resumed from"),
                                 HasSubstr("resumed with another model.rope_scaling")));
  const Outcome plan = on_job("train", "--dry-run --set run.steps=2");
  EXPECT_THAT(plan.text, HasSubstr("is num_hidden_layers meant?"));
}

// 3,490 bytes are 218 samples of 16 tokens.
TEST_F(Runs, OfEpochsCountTheirSteps) {
  const std::string epochs = "--set run.steps=null --set run.epochs=";
  const std::string line = "run.epochs 0.1: 11 steps of 2 samples, 218 samples per epoch";
  const Outcome plan = on_job("train", "--dry-run " + epochs + "0.1");
  EXPECT_THAT(plan.text, HasSubstr(line));
  const Outcome first =
      on_job("train", epochs + "0.1 --set scheduler.type=linear --set checkpoint.interval=0.5");
  EXPECT_EQ(first.status, 0) << first.text;
  EXPECT_THAT(first.text,
              AllOf(HasSubstr(line), HasSubstr("at step 11"), HasSubstr("step-000006.h5")));
  EXPECT_THAT(on_job("train", epochs + "0.1").text, HasSubstr("nothing to do"));
  const Outcome longer = on_job("train", epochs + "0.2 --set train_batch_size=4");
  EXPECT_EQ(longer.status, 0) << longer.text;
  EXPECT_THAT(longer.text,
              AllOf(HasSubstr("run.epochs 0.2: 17 steps of 4 samples"), HasSubstr("resumed from")))
      << "22 of 43.6 samples are done";
  EXPECT_THAT(on_job("train", "--set run.epochs=1").text, HasSubstr("Leave one of them out"));
  EXPECT_THAT(on_job("train", "--dry-run " + epochs + "1 --set data.train=gone.txt").text,
              HasSubstr("run.epochs 1: the steps are not counted, because files of the job are "
                        "missing"));
}

// HDF5 reads a missing source file as zeros, which a run would train on.
TEST_F(Runs, TokensOfAFileThatIsNotThereAreNotTrainedOn) {
  constexpr std::int64_t tokens = 200;
  std::vector<std::int32_t> values(tokens);
  std::iota(values.begin(), values.end(), 0);
  {
    hdf5::File part(directory_.path("part.h5"), hdf5::File::Mode::create);
    part.create_dataset("/tokens", DType::i32, {tokens});
    part.write("/tokens", {{{}, {tokens}}}, Tensor(values.data(), {tokens}));
    hdf5::File all(directory_.path("all.h5"), hdf5::File::Mode::create);
    all.create_virtual("/tokens", DType::i32, {tokens}, {{"part.h5", 0, tokens}});
  }
  const std::string job = "--set data.train=" + shell_word(directory_.path("all.h5"));
  const Outcome whole =
      on_job("train", job + " --set run.directory=" + shell_word(directory_.path("whole")));
  EXPECT_EQ(whole.status, 0) << whole.text;
  std::filesystem::remove(directory_.path("part.h5"));
  const Outcome outcome = on_job("train", job);
  EXPECT_EQ(outcome.status, 3) << outcome.text;
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("200 of the 200 tokens of its dataset /tokens"),
                                  HasSubstr("dataset /tokens of " + directory_.path("part.h5"))));
  EXPECT_FALSE(std::filesystem::exists(directory_.path("run/metrics.jsonl")));
}

// A checkpoint assembled by hand, with one tensor in a missing file.
TEST_F(Runs, ATensorOfAFileThatIsNotThereIsNeitherResumedNorContinued) {
  ASSERT_EQ(on_job("train").status, 0);
  const CheckpointReader trained(checkpoint_path(directory_.path("run/checkpoints"), 2));
  const std::string missing = "/model/transformer.wte.weight";
  const std::string path = directory_.path("assembled.h5");
  {
    hdf5::File file(path, hdf5::File::Mode::create);
    CheckpointHeader header = trained.header();
    header.format_version = 1;  // without checksums
    write_header(file, header);
    for (const auto& [name, dtype, shape] : trained.tensors())
      if (name == missing)
        file.create_virtual(name, dtype, shape, {{"gone.h5", 0, shape[0]}});
      else
        file.create_dataset(name, dtype, shape);
  }
  for (const Outcome& outcome :
       {on_job("train", "--set run.steps=3 --set checkpoint.resume=" + shell_word(path) +
                            " --set run.directory=" + shell_word(directory_.path("resumed"))),
        triax("generate " + shell_word(path) + " --prompt li --max-tokens 5")}) {
    EXPECT_EQ(outcome.status, 3) << outcome.text;
    EXPECT_THAT(outcome.text,
                AllOf(HasSubstr(path), HasSubstr(missing), HasSubstr(directory_.path("gone.h5"))));
  }
  EXPECT_FALSE(std::filesystem::exists(directory_.path("resumed/metrics.jsonl")));
}

TEST_F(Runs, ARunWhoseDirectoryGoesSaysSoAndFails) {
  const std::string run = directory_.path("run");
  const Outcome outcome = outcome_of_script(
      fmt::format("{} {} --set run.steps=300 --set checkpoint.at_end=false & p=$!; until [ -s "
                  "{}/metrics.jsonl ]; do sleep 0.01; done; mv {} {}; wait $p",
                  command_of("train"), shell_word(directory_.path("job.json")), shell_word(run),
                  shell_word(run), shell_word(directory_.path("elsewhere"))));
  EXPECT_EQ(outcome.status, 3) << outcome.text;
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr(run + "/metrics.jsonl is gone"), Not(HasSubstr("permissions"))));
}

// The case of standard error on a full disk.
TEST_F(Runs, ARunWhoseLogCannotBeWrittenGoesOn) {
  for (const std::string progress : {"lines", "bar"}) {
    const Outcome run =
        outcome_of_script(command_of("train " + shell_word(directory_.path("job.json")) +
                                     " --set run.progress=" + progress) +
                          " 2>/dev/full");
    EXPECT_EQ(run.status, 0) << run.text;
    EXPECT_TRUE(std::filesystem::exists(directory_.path("run/checkpoints/step-000002.h5")));
    std::filesystem::remove_all(directory_.path("run"));
  }
  EXPECT_EQ(outcome_of_script(command_of("train none.json 2>/dev/full")).status, 2);
}

TEST_F(Runs, ARunWhoseLogNobodyReadsGoesOn) {
  const std::string run =
      command_of("train " + shell_word(directory_.path("job.json")) + " --set run.progress=lines");
  const Outcome left = outcome_of_script("{ sleep 0.3; " + run + "; echo $? >" +
                                         shell_word(directory_.path("status")) + "; } 2>&1 | true");
  EXPECT_EQ(left.status, 0) << left.text;
  EXPECT_EQ(contents(directory_.path("status")), "0\n");
  EXPECT_TRUE(std::filesystem::exists(directory_.path("run/checkpoints/step-000002.h5")));
}

TEST_F(Runs, ADiskThatCannotBeWrittenIsTheUsersErrorBeforeTheRun) {
  const std::string section = "zero_optimization.offload_optimizer";
  const Outcome run =
      on_job("train", fmt::format("--set {0}.device=nvme --set {0}.nvme_path=/proc/self", section));
  EXPECT_EQ(run.status, 2) << run.text;
  for (const std::string& part : {std::string("/proc/self"), section + ".nvme_path"})
    EXPECT_THAT(run.text, HasSubstr(part));
  EXPECT_FALSE(std::filesystem::exists(directory_.path("run"))) << "a refused run leaves nothing";
  EXPECT_EQ(on_job("train", "--set checkpoint.resume=must").status, 2);
  EXPECT_FALSE(std::filesystem::exists(directory_.path("run")));
}

TEST_F(Runs, AFinishedRunSaysWhatItsJobWouldChange) {
  ASSERT_EQ(on_job("train").status, 0);
  const Outcome again = on_job("train", "--set optimizer.params.lr=0.5");
  EXPECT_EQ(again.status, 0) << again.text;
  EXPECT_THAT(
      again.text,
      AllOf(HasSubstr("resumed with another optimizer.params.lr: 0.001 in the checkpoint, 0.5 now"),
            HasSubstr("run.steps is 2. For another run set another run.directory, or "
                      "checkpoint.resume never")));
}

TEST_F(Runs, ASecondRunInTheDirectoryIsTurnedAway) {
  std::filesystem::create_directory(directory_.path("run"));
  const DirectoryLock lock(directory_.path("run"), "Wait");
  const Outcome second = on_job("train");
  EXPECT_EQ(second.status, 3);
  EXPECT_THAT(second.text, AllOf(HasSubstr("another run works in " + directory_.path("run")),
                                 HasSubstr(fmt::format("process {}", getpid()))));
  EXPECT_FALSE(std::filesystem::exists(directory_.path("run/metrics.jsonl")));
}

TEST_F(Runs, ADivergedRunSaysSoInGoodEnglish) {
  const Outcome run =
      on_job("train",
             "--set optimizer.type=AdamW --set optimizer.params.lr=1e38 --set data.valid=text.txt "
             "--set run.eval_interval=1 --set run.max_bad_steps=0 --set run.steps=9 "
             "--set steps_per_print=1 --set run.progress=lines");
  EXPECT_EQ(run.status, 3) << run.text;
  EXPECT_THAT(run.text, AllOf(HasSubstr("step 2 skipped: loss nan, gradient norm nan"),
                              HasSubstr("step      2/9  loss nan"),
                              HasSubstr("validation loss nan"), Not(HasSubstr("-nan")),
                              HasSubstr("no batch has a finite loss with the weights that step 1 "
                                        "left; no other checkpoint is there: rerun the same "
                                        "command to begin anew"),
                              HasSubstr("(the run diverged; ")));
}

TEST_F(Runs, ARunThatSkippedEveryStepFails) {
  const Outcome run = on_job("train", "--set fp16.enabled=true --set fp16.loss_scale=1e30");
  EXPECT_EQ(run.status, 3) << run.text;
  EXPECT_THAT(run.text, AllOf(HasSubstr("no step changed the weights: all 2 of the run"),
                              HasSubstr("fp16.loss_scale")));
  std::filesystem::remove_all(directory_.path("run"));
  EXPECT_THAT(
      on_job("train", "--set fp16.enabled=true --set fp16.loss_scale=1e30 --set run.steps=1").text,
      HasSubstr("the only one of the run was skipped"));
}

// The first update breaks the weights but leaves them finite.
TEST_F(Runs, ALossSpikeIsSaidOnceAndMayEndTheRun) {
  const std::string diverging =
      "--set run.steps=8 --set optimizer.params.lr=5 --set run.loss_spike.window=2 --set "
      "checkpoint.interval=1 --set checkpoint.keep=1 ";
  const Outcome warned = on_job("train", diverging);
  EXPECT_EQ(warned.status, 0) << warned.text;
  const auto count = [&](const std::string& text) {
    std::size_t found = 0;
    for (auto at = warned.text.find(text); at != std::string::npos;
         at = warned.text.find(text, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("(run.loss_spike)"), 1U) << warned.text;
  EXPECT_THAT(warned.text, HasSubstr("the loss of step 3, "));
  std::filesystem::remove_all(directory_.path("run"));
  const Outcome stopped = on_job("train", diverging + "--set run.loss_spike.action=stop");
  EXPECT_EQ(stopped.status, 3) << stopped.text;
  EXPECT_THAT(stopped.text, AllOf(HasSubstr("the loss of step 3, "),
                                  HasSubstr("no checkpoint from before it has a loss within the "
                                            "spike limit; the newest of them is "),
                                  HasSubstr("step-000002.h5")));
  std::filesystem::remove_all(directory_.path("run"));
  EXPECT_EQ(on_job("train", "").status, 0);
  const Outcome resumed = on_job("train", diverging);
  EXPECT_EQ(resumed.status, 0) << resumed.text;
  EXPECT_THAT(resumed.text,
              HasSubstr("step-000002.h5 is kept beside the 1 newest (checkpoint.keep): it is the "
                        "newest with a loss within the spike limit (run.loss_spike.factor); the "
                        "loss of step 4 was not"));
  const Outcome refused = on_job("train", "--set run.loss_spike.action=rollback");
  EXPECT_EQ(refused.status, 2) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("--set: run.loss_spike.action"));
}

}  // namespace
}  // namespace triax::test
