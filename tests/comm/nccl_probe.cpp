// SPDX-License-Identifier: Apache-2.0
// Ranks with a device each; the last rank never joins a message: a sum or, with the argument
// "exchange", a send from the rank before it. See test_nccl_stall.cpp.
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "kernels/base/check.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/comm/launch/mpi_session.hpp"
#include "src/comm/watchdog/watchdog.hpp"

namespace {

void exchange(triax::Communicator& comm, const triax::Stream& queue, const triax::Tensor& data) {
  comm.begin_exchange();
  triax::Request message;
  if (comm.rank() == comm.size() - 2) message = comm.send(queue, data, comm.size() - 1, 7);
  comm.end_exchange(queue);
  message.wait(queue);
}

int run(int argc, char** argv) {
  triax::MpiSession session(&argc, &argv);
  triax::ProcessGrid grid(MPI_COMM_WORLD, {.data = session.size()}, {}, 0.0,
                          triax::MemorySpace::device);
  std::fprintf(stderr, "%s\n", grid.devices().c_str());
  const triax::Stream queue(triax::MemorySpace::device);
  const triax::Buffer memory(400, triax::MemorySpace::device);
  const triax::Tensor data = memory.tensor(triax::DType::f32, {100});
  grid.data().all_reduce(queue, data).wait(queue);
  grid.drain(queue);
  grid.world().barrier(triax::Stream{}).wait(triax::Stream{});
  // The watchdog starts only here: a busy machine may need long to get to this point.
  constexpr double timeout = 3.0;
  const triax::Watchdog watchdog(grid.board(), timeout);
  if (session.rank() == session.size() - 1)
    for (;;) ::sleep(1);
  if (argc > 1 && std::string_view(argv[1]) == "exchange")
    exchange(grid.data(), queue, data);
  else
    grid.data().all_reduce(queue, data).wait(queue);
  grid.drain(queue);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}
