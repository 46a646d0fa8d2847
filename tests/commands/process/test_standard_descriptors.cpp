// SPDX-License-Identifier: Apache-2.0
// Descriptors 0 to 2 that a shell or a launcher closed are not reused for files of the run.
#include "tests/commands/small_job.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

class StandardDescriptors : public SmallJob {
 protected:
  std::vector<std::string> metrics() const {
    std::vector<std::string> lines;
    std::istringstream text(contents(directory_.path("run/metrics.jsonl")));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  void expect_a_run(const Outcome& run) const {
    EXPECT_EQ(run.status, 0) << run.text;
    EXPECT_THAT(metrics(), AllOf(testing::SizeIs(2), Each(StartsWith("{\"step\":"))));
    EXPECT_EQ(on_job("checkpoint verify " +
                     shell_word(directory_.path("run/checkpoints/step-000002.h5")) + " #")
                  .status,
              0);
  }
};

TEST_F(StandardDescriptors, OfARunMayBeClosed) {
  for (const std::string closed : {"2>&-", "0<&-", ">&-", "0<&- >&- 2>&-"}) {
    SCOPED_TRACE(closed);
    expect_a_run(outcome_of_script(command_of("train " + shell_word(directory_.path("job.json"))) +
                                   " --set run.progress=lines " + closed));
    std::filesystem::remove_all(directory_.path("run"));
  }
}

// The script of each rank writes "all" once its descriptors 0 to 2 are /dev/null, or an empty line
// when the rank has ended.
TEST_F(StandardDescriptors, OfRanksMayBeClosed) {
  const std::string script = directory_.file(
      "rank.sh", command_of("train " + shell_word(directory_.path("job.json")) +
                            " --set run.progress=lines 0<&- >&- 2>&-") +
                     R"( & p=$!; cd /proc/$p/fd; seen=; while kill -0 $p 2>/dev/null; do
            now=$(readlink 0 1 2 2>/dev/null | tr '\n' ' ')
            [ "$now" != '/dev/null /dev/null /dev/null ' ] || { seen=all; break; }
            sleep 0.005; done; echo "$seen" >>)" +
                     shell_word(directory_.path("seen")) + "; wait $p");
  expect_a_run(outcome_of("env OMP_NUM_THREADS=1 " + mpiexec(2) + "sh " + shell_word(script)));
  EXPECT_EQ(contents(directory_.path("seen")), "all\nall\n");
}

// A checkpoint of the job, and the commands that print.
class StandardOutput : public StandardDescriptors {
 protected:
  void SetUp() override {
    SmallJob::SetUp();
    ASSERT_EQ(on_job("train").status, 0);
    const std::string job = shell_word(directory_.path("job.json"));
    const std::string checkpoints = shell_word(directory_.path("run/checkpoints"));
    file_ = shell_word(directory_.path("run/checkpoints/step-000002.h5"));
    printing_ = {"--version",
                 "train --help",
                 "config --reference",
                 "config " + job,
                 "train " + job + " --dry-run",
                 "train " + job + " --print-plan",
                 "checkpoint list " + checkpoints,
                 "checkpoint inspect " + file_,
                 "checkpoint verify " + file_,
                 "checkpoint diff " + file_ + ' ' + file_,
                 "generate " + file_ + " --prompt line --max-tokens 2"};
  }
  std::string export_command() const {
    return "checkpoint export " + file_ + " --to huggingface " + shell_word(model());
  }
  std::string model() const { return directory_.path("model"); }
  std::string file_;
  std::vector<std::string> printing_;
};

TEST_F(StandardOutput, MayBeClosed) {
  std::vector<std::string> commands = printing_;
  commands.push_back(export_command());
  commands.push_back("checkpoint import " + shell_word(model()) + " --out " +
                     shell_word(directory_.path("again.h5")));
  for (const std::string& command : commands) {
    const Outcome outcome = outcome_of_script(command_of(command) + " >&-");
    EXPECT_EQ(outcome.status, 0) << command << outcome.text;
  }
  EXPECT_TRUE(std::filesystem::exists(model() + "/config.json"));
  EXPECT_TRUE(std::filesystem::exists(directory_.path("again.h5")));
  EXPECT_EQ(outcome_of_script(command_of("config --reference") + " >/dev/null 0<&- 2>&-").status,
            0);
  EXPECT_EQ(outcome_of_script(command_of("train none.json") + " 2>&-").status, 2);
}

TEST_F(StandardOutput, OnAFullDiskIsAnError) {
  for (const std::string& command : printing_) {
    const Outcome outcome = triax(command + " >/dev/full");
    EXPECT_EQ(outcome.status, 3) << command;
    EXPECT_THAT(outcome.text, HasSubstr("triax: cannot write to standard output (No space left"))
        << command;
  }
}

// The files are what the command is for.
TEST_F(StandardOutput, OnAFullDiskDoesNotFailAnExport) {
  const Outcome outcome = triax(export_command() + " >/dev/full");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("cannot write to standard output (No space left"),
                                  HasSubstr("The command is done: " + model())));
  EXPECT_TRUE(std::filesystem::exists(model() + "/config.json"));
}

}  // namespace
}  // namespace triax::test
