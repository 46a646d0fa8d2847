// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/mpi/agree.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <new>

#include "tests/io/rank_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

TEST(Agree, PassesWhenAllDo) {
  EXPECT_NO_THROW(agree(MPI_COMM_WORLD, ""));
}

TEST(Agree, AnAllocationThatWasRefusedSaysWhatToDo) {
  EXPECT_THAT(error_of([] { agreed(MPI_COMM_WORLD, [] { throw std::bad_alloc(); }); }),
              AllOf(HasSubstr("out of memory"), HasSubstr("Make the micro-batch")));
}

TEST(Agree, AnAllocationUnderALimitOfTheProcessNamesIt) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_DATA, &before), 0);
  rlimit lower = before;
  lower.rlim_cur = std::min<rlim_t>(before.rlim_max, rlim_t{1} << 44);
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &lower), 0);
  const std::string text = failure_text(std::bad_alloc());
  ::setrlimit(RLIMIT_DATA, &before);
  EXPECT_THAT(text, AllOf(HasSubstr("a process's data (RLIMIT_DATA, ulimit -d) is limited to "),
                          HasSubstr("GiB). Raise that limit: ulimit -d unlimited. Or: Make")));
}

// Each rank in turn fails alone: all ranks throw, and the communicator stays usable.
TEST(Agree, TellsAllOfOneFailure) {
  for (int failing = 0; failing < world_size(); ++failing) {
    const std::string text = "disk " + std::to_string(failing) + " is full";
    const std::string heard =
        error_of([&] { agree(MPI_COMM_WORLD, world_rank() == failing ? text : ""); });
    EXPECT_THAT(heard, EndsWith(text));
    if (world_size() > 1) {
      EXPECT_THAT(heard, HasSubstr("rank " + std::to_string(failing)));
    }
  }
}

TEST(Agree, TheLowestRankSpeaksForMany) {
  const std::string heard =
      error_of([&] { agree(MPI_COMM_WORLD, std::string(1000 + world_rank(), 'x')); });
  EXPECT_THAT(heard, EndsWith(std::string(1000, 'x')));
  EXPECT_LT(heard.size(), 1100u);
}

TEST(Agree, ExceptionsOfAnActionAreCaught) {
  const std::string heard = error_of([&] {
    agreed(MPI_COMM_WORLD, [] {
      if (world_rank() == world_size() - 1) throw std::runtime_error("broken");
    });
  });
  EXPECT_THAT(heard, EndsWith("broken"));
}

// Each rank in turn throws: all throw the same class of error.
TEST(Agree, AUsersMistakeIsOneOnAllRanks) {
  for (int failing = 0; failing < world_size(); ++failing) {
    const auto mistaken = [&] {
      agreed(MPI_COMM_WORLD, [&] {
        if (world_rank() == failing) throw UsageError("no such file");
        if (world_rank() > failing) throw Error("the disk is full");
      });
    };
    EXPECT_THROW(mistaken(), UsageError);
    EXPECT_THAT(error_of(mistaken), EndsWith("no such file"));
    const auto failed = [&] {
      agreed(MPI_COMM_WORLD, [&] {
        if (world_rank() == failing) throw Error("the disk is full");
        if (world_rank() > failing) throw UsageError("no such file");
      });
    };
    EXPECT_THAT(error_of(failed), EndsWith("the disk is full"));
    EXPECT_FALSE(is_usage_error(failed));
  }
}

TEST(Agree, OneProcessAlone) {
  EXPECT_NO_THROW(agree(MPI_COMM_NULL, ""));
  EXPECT_EQ(error_of([] { agree(MPI_COMM_NULL, "mine"); }), "mine");
}

}  // namespace
}  // namespace triax
