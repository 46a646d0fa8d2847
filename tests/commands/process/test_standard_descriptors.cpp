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

// A table that cannot be printed is an error.
TEST_F(StandardDescriptors, ATableIsStillNotWrittenToAClosedOne) {
  for (const char* command : {"--version", "config --reference", "train --help"}) {
    const Outcome outcome = outcome_of_script(command_of(command) + " >&-");
    EXPECT_EQ(outcome.status, 3) << command;
    EXPECT_THAT(outcome.text, StartsWith("triax: cannot write to standard output (Bad file"));
  }
  EXPECT_EQ(outcome_of_script(command_of("config --reference") + " >/dev/null 0<&- 2>&-").status,
            0);
  EXPECT_EQ(outcome_of_script(command_of("train none.json") + " 2>&-").status, 2);
}

}  // namespace
}  // namespace triax::test
