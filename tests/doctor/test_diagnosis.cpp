// SPDX-License-Identifier: Apache-2.0
#include "src/doctor/diagnosis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/doctor/report.hpp"

namespace triax::doctor {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;

// Facts of `count` ranks without any problem, two per node.
std::vector<RankFacts> healthy(int count) {
  std::vector<RankFacts> ranks;
  for (int rank = 0; rank < count; ++rank) {
    RankFacts facts;
    facts.rank = rank;
    facts.host = "n" + std::to_string(rank / 2);
    facts.program = "triax 0.1.0; commit abc";
    facts.isa = "avx512";
    facts.binding = "4 of the node's 8 cores";
    facts.cores = 8;
    facts.node_ranks = 2;
    facts.allowed = 4;
    facts.hardware = 8;
    facts.memory = 64 * gibibyte;
    facts.memory_of = "this machine's memory";
    facts.process_memory = -1.0;
    facts.shared_memory = 32 * gibibyte;
    facts.open_files = 65536;
    facts.locked_memory = -1;
    facts.clock = 1e9;
    facts.directories = {{"/scratch/run", "", "lustre", 1000 * gibibyte, "", "io_uring", true}};
    ranks.push_back(facts);
  }
  return ranks;
}

auto problem(const std::string& text) {
  return AllOf(Field(&Finding::problem, true), Field(&Finding::text, HasSubstr(text)));
}
auto note(const std::string& text) {
  return AllOf(Field(&Finding::problem, false), Field(&Finding::text, HasSubstr(text)));
}

TEST(Findings, AreNoneOfAHealthyMachine) {
  EXPECT_THAT(findings(healthy(4)), IsEmpty());
  EXPECT_THAT(report_text(healthy(4), {}, "the job ends at noon"),
              AllOf(HasSubstr("4 on 2 node(s)"), HasSubstr("the job ends at noon"),
                    HasSubstr("Nothing is wrong.")));
}

TEST(Findings, NameTheRanksThatRunAnotherProgram) {
  auto ranks = healthy(6);
  ranks[2].program = ranks[3].program = "triax 0.0.9; commit old";
  EXPECT_THAT(findings(ranks), ElementsAre(problem("commit old on ranks 2-3")));
}

TEST(Findings, PutProblemsBeforeNotes) {
  auto ranks = healthy(2);
  ranks[1].isa = "avx2";
  ranks[1].omp = "3";
  const auto found = findings(ranks);
  EXPECT_THAT(found, ElementsAre(problem("OMP_NUM_THREADS differs: 3 on rank 1; not set on rank 0"),
                                 note("processors differ")));
  EXPECT_TRUE(has_problem(found));
  EXPECT_FALSE(has_problem({found.back()}));
}

TEST(Findings, KnowMoreRanksThanCores) {
  auto ranks = healthy(2);
  for (RankFacts& rank : ranks) rank.cores = rank.allowed = 1;
  EXPECT_THAT(findings(ranks), ElementsAre(problem("2 ranks share 1 core(s) on n0 (ranks 0-1)")));
}

TEST(Findings, KnowABindingThatLeavesMostOfTheNodeIdle) {
  auto ranks = healthy(2);
  for (RankFacts& rank : ranks) rank.hardware = 128;
  EXPECT_THAT(findings(ranks), ElementsAre(note("4 of n0's 128 hardware threads")));
}

TEST(Findings, KnowDirectoriesOfOneNodeAlone) {
  auto ranks = healthy(4);
  ranks[2].directories[0].seen = ranks[3].directories[0].seen = false;
  EXPECT_THAT(
      findings(ranks),
      ElementsAre(problem("/scratch/run is another directory on ranks 2-3 than on rank 0")));
}

TEST(Findings, KnowDirectoriesThatCannotBeUsed) {
  auto ranks = healthy(2);
  ranks[1].directories[0].problem = "Permission denied";
  EXPECT_THAT(findings(ranks),
              ElementsAre(problem("/scratch/run cannot be written: Permission denied (rank 1)")));
  ranks = healthy(1);
  ranks[0].node_ranks = 1;
  ranks[0].allowed = 8;
  ranks[0].directories[0].type = "tmpfs";
  ranks[0].directories[0].free_bytes = 1e6;
  ranks[0].directories[0].lock_problem = "no locks";
  EXPECT_THAT(findings(ranks), ElementsAre(problem("free"), note("no locks"), note("tmpfs")));
  ranks = healthy(4);
  ranks[3].directories[0].free_bytes = 1e6;
  EXPECT_THAT(findings(ranks), ElementsAre(problem("/scratch/run has 976.6 KiB free (rank 3)")))
      << "a disk of each node";
}

TEST(Findings, KnowLimitsOfMemoryAndFiles) {
  auto ranks = healthy(2);
  ranks[0].process_memory = 1e8;
  ranks[0].process_remedy = "Raise that limit: ulimit -v unlimited";
  ranks[1].shared_memory = 64.0 * 1024 * 1024;
  ranks[1].open_files = 256;
  EXPECT_THAT(findings(ranks),
              ElementsAre(problem("a process may hold 95.37 MiB (rank 0)"), note("/dev/shm has 64"),
                          note("at most 256 open files (rank 1)")));
}

TEST(Findings, KnowGpusThatNobodyUses) {
  auto ranks = healthy(2);
  for (RankFacts& rank : ranks) rank.gpu_nodes = true;
  EXPECT_THAT(findings(ranks), ElementsAre(note("this program has no code for them")));
  for (RankFacts& rank : ranks) rank.gpu_code = true;
  EXPECT_THAT(findings(ranks), ElementsAre(problem("no rank finds one (ranks 0-1)")));
  ranks[0].gpus = {"NVIDIA H100"};
  ranks[1].gpus = {"NVIDIA H100", "NVIDIA H100"};
  EXPECT_THAT(findings(ranks), ElementsAre(problem("different numbers of GPUs")));
}

TEST(Findings, KnowClocksThatDiffer) {
  auto ranks = healthy(4);
  ranks[3].clock += 7.0;
  EXPECT_THAT(findings(ranks), ElementsAre(note("clocks differ by 7.0 s: n0 is behind n1")));
}

TEST(Report, HasTheFactsOfEveryRankAsJson) {
  const auto ranks = healthy(3);
  const auto json = nlohmann::ordered_json::parse(report_json(ranks, {{true, "a", "b"}}, "noon"));
  ASSERT_EQ(json.at("ranks").size(), 3U);
  EXPECT_EQ(json.at("ranks").at(2).at("host"), "n1");
  EXPECT_EQ(json.at("findings").at(0).at("remedy"), "b");
  EXPECT_EQ(json.at("job_end"), "noon");
  const auto again = json.at("ranks").at(1).get<RankFacts>();
  EXPECT_EQ(nlohmann::ordered_json(again), nlohmann::ordered_json(ranks[1]));
}

}  // namespace
}  // namespace triax::doctor
