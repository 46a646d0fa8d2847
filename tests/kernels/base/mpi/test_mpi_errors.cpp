// SPDX-License-Identifier: Apache-2.0
// A failed MPI call becomes an Error. The calls below fail on request of a test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <functional>
#include <string>

#include "kernels/base/check.hpp"
#include "src/comm/host/hierarchical_exchange.hpp"
#include "src/comm/mpi/mpi_driver.hpp"
#include "src/comm/topology/topology.hpp"

namespace {

std::string failing;  // name of the call that fails now

int outcome(const char* call, int code) {
  return failing == call ? MPI_ERR_INTERN : code;
}

}  // namespace

// Replacements of the library's functions, which remain available as PMPI_*.
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* found, MPI_Status* status) {
  return outcome("MPI_Iprobe", PMPI_Iprobe(source, tag, comm, found, status));
}
int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  return outcome("MPI_Comm_rank", PMPI_Comm_rank(comm, rank));
}
int MPI_Comm_size(MPI_Comm comm, int* size) {
  return outcome("MPI_Comm_size", PMPI_Comm_size(comm, size));
}
// As in Open MPI: only MPI_COMM_WORLD knows the largest tag.
int MPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* found) {
  *found = 0;
  return comm == MPI_COMM_WORLD ? PMPI_Comm_get_attr(comm, key, value, found) : MPI_SUCCESS;
}

namespace triax {
namespace {

using testing::HasSubstr;

// Text of the Error of `use` while `call` fails.
std::string said_where(const std::string& call, const std::function<void()>& use) {
  std::string said = "nothing";
  failing = call;
  try {
    use();
  } catch (const Error& error) {
    said = error.what();
  }
  failing.clear();
  return said;
}

TEST(MpiErrors, OfMessagesThatAreMovedOn) {
  const std::string place = "rank 7 of the test";
  MpiDriver driver(place);
  ASSERT_EQ(MPI_Comm_dup(MPI_COMM_SELF, driver.address()), MPI_SUCCESS);
  EXPECT_EQ(said_where("", [&] { driver.advance(); }), "nothing");
  EXPECT_THAT(said_where("MPI_Iprobe", [&] { driver.advance(); }),
              HasSubstr("MPI_Iprobe failed on rank 7 of the test"));
}

TEST(MpiErrors, OfTheRanksOfANode) {
  for (const std::string call : {"MPI_Comm_size", "MPI_Comm_rank"})
    EXPECT_THAT(said_where(call, [] { share_of_cores(MPI_COMM_SELF); }),
                HasSubstr(call + " failed on the ranks of a node"));
}

TEST(MpiErrors, OfGroupsThatLieOnSeveralNodes) {
  for (const std::string call : {"MPI_Comm_size", "MPI_Comm_rank"})
    EXPECT_THAT(said_where(call,
                           [] {
                             const HierarchicalExchange made(MPI_COMM_SELF, 1, WaitPolicy::yield,
                                                             "the data axis");
                           }),
                HasSubstr(call + " failed on the data axis"));
}

TEST(MpiTags, AreThoseOfMpiWhateverTheGroup) {
  int* bound = nullptr;
  int found = 0;
  ASSERT_EQ(PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&bound), &found),
            MPI_SUCCESS);
  ASSERT_EQ(found, 1);
  MPI_Comm copy = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(MPI_COMM_SELF, &copy), MPI_SUCCESS);
  const MpiCommunicator made(copy, WaitPolicy::yield, "the pipeline axis");
  EXPECT_EQ(made.largest_tag(), *bound - 1);  // the last tag is that of sums
}

}  // namespace
}  // namespace triax
