// Ranks on devices of their own, the last of which never joins a message; see test_nccl_stall.cpp.
#include <unistd.h>

#include <cstdio>

#include "kernels/base/check.hpp"
#include "src/comm/mpi_session.hpp"
#include "src/comm/process_grid.hpp"

namespace {

int run(int argc, char** argv) {
  triax::MpiSession session(&argc, &argv);
  constexpr double timeout = 1.0;
  triax::ProcessGrid grid(MPI_COMM_WORLD, {.data = session.size()}, {}, timeout,
                          triax::MemorySpace::device);
  std::fprintf(stderr, "%s\n", grid.devices().c_str());
  const triax::Stream queue(triax::MemorySpace::device);
  const triax::Buffer memory(400, triax::MemorySpace::device);
  const triax::Tensor data = memory.tensor(triax::DType::f32, {100});
  grid.data().all_reduce(queue, data).wait(queue);
  grid.drain(queue);
  if (session.rank() == session.size() - 1)
    for (;;) ::sleep(1);
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
