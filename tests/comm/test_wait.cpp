#include "src/comm/wait.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace triax {
namespace {

TEST(Wait, SpinsOnlyWhereEveryRankHasACore) {
  EXPECT_EQ(wait_policy(1, 1), WaitPolicy::spin);
  EXPECT_EQ(wait_policy(8, 8), WaitPolicy::spin);
  EXPECT_EQ(wait_policy(9, 8), WaitPolicy::yield);
}

// Every rank waits for a message that rank 0 sends late: long enough to reach the naps.
TEST(Wait, ReturnsWithTheMessage) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (const WaitPolicy policy : {WaitPolicy::yield, WaitPolicy::spin}) {
    int value = rank == 0 ? 42 : 0;
    constexpr useconds_t late = 20'000;
    if (rank == 0) usleep(late);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    ASSERT_EQ(wait_for(request, policy), MPI_SUCCESS);
    EXPECT_EQ(value, 42);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
  }
}

TEST(Wait, NothingIsCompleteAtOnce) {
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(wait_for(request, WaitPolicy::yield), MPI_SUCCESS);
}

TEST(Wait, GivesTheStatusOfAReceive) {
  int value = 7;
  int received = 0;
  MPI_Request send = MPI_REQUEST_NULL;
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Irecv(&received, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &receive);
  MPI_Isend(&value, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &send);
  MPI_Status status;
  ASSERT_EQ(wait_for(receive, WaitPolicy::yield, &status), MPI_SUCCESS);
  ASSERT_EQ(wait_for(send, WaitPolicy::spin), MPI_SUCCESS);
  EXPECT_EQ(received, 7);
  EXPECT_EQ(status.MPI_TAG, 5);
}

}  // namespace
}  // namespace triax
