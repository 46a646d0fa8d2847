// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/mpi/wait.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "src/comm/mpi/mpi_driver.hpp"
#include "src/comm/watchdog/device_wait.hpp"

namespace triax {
namespace {

TEST(Wait, SpinsOnlyWhereEveryRankHasACore) {
  EXPECT_EQ(wait_policy(1, 1), WaitPolicy::spin);
  EXPECT_EQ(wait_policy(8, 8), WaitPolicy::spin);
  EXPECT_EQ(wait_policy(9, 8), WaitPolicy::yield);
}

// Every rank waits for a message that rank 0 sends late, long enough to reach the sleeping phase.
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

// A wait for the device exchanges messages, and the board shows it.
TEST(Wait, ForADeviceDrivesMessagesAndIsNoted) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ProgressBoard board;
  const std::string place = "a rank of the test";
  MpiDriver driver(place);
  MPI_Comm_dup(MPI_COMM_WORLD, driver.address());
  MessageProgress progress;
  progress.add(driver);
  // More bytes than MPI sends before the receiver looks.
  std::vector<char> mine(std::size_t{8} << 20, static_cast<char>(rank)), theirs(mine.size());
  theirs.back() = static_cast<char>(-1);
  std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
  MPI_Irecv(theirs.data(), static_cast<int>(theirs.size()), MPI_CHAR, (rank + size - 1) % size, 3,
            MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, (rank + 1) % size, 3,
            MPI_COMM_WORLD, &requests[1]);
  // No call of MPI except those of the wait itself.
  int asked = 0;
  const char sent = static_cast<char>((rank + size - 1) % size);
  const volatile char& last = theirs.back();
  wait_for_device(
      [&] {
        EXPECT_EQ(board.waits() % 2, asked++ == 0 ? 0U : 1U);
        return last == sent;
      },
      WaitPolicy::yield, &board, &progress);
  EXPECT_EQ(board.waits() % 2, 0U);
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  EXPECT_EQ(theirs.front(), sent);
  wait_for_device([] { return true; }, WaitPolicy::yield, nullptr, nullptr);
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
