// The main of every test program, alone or under mpiexec.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

#include "kernels/base/runtime.hpp"

namespace {

// A fatal failure on one rank would leave the others in a collective for ever: it ends the job instead.
class AbortOnFailure : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > 1)
      std::fprintf(stderr, "[rank %d] %s:%d\n%s\n", rank, result.file_name() ? result.file_name() : "?",
                   result.line_number(), result.message());
    std::fflush(stderr);
    if (result.fatally_failed() && size > 1) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  void OnTestEnd(const testing::TestInfo&) override { MPI_Barrier(MPI_COMM_WORLD); }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new AbortOnFailure);
  int failed = 0;
  {
    const triax::KernelRuntime runtime;
    failed = RUN_ALL_TESTS();
  }
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0) failed = 1;
  int any = 0;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
