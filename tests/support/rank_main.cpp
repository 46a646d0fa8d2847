// The main of every test program, alone or under mpiexec.
#include <gtest/gtest.h>

#include <cstdio>

#include "kernels/base/runtime.hpp"
#include "src/comm/mpi_session.hpp"
#include "src/comm/wait.hpp"

namespace {

// The tests run more ranks than a small machine has cores: no rank spins for another.
void wait(MPI_Request request) {
  if (triax::wait_for(request, triax::WaitPolicy::yield) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  wait(request);
}

// A fatal failure on one rank would leave the others in a collective for ever: it ends the job
// instead.
class AbortOnFailure : public testing::EmptyTestEventListener {
 public:
  explicit AbortOnFailure(const triax::MpiSession& session) : session_(session) {}

 private:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed() || session_.size() == 1) return;
    std::fprintf(stderr, "[rank %d] %s:%d\n%s\n", session_.rank(),
                 result.file_name() != nullptr ? result.file_name() : "?", result.line_number(),
                 result.message());
    if (result.fatally_failed()) session_.abort(1);
  }
  void OnTestEnd(const testing::TestInfo&) override { barrier(); }

  const triax::MpiSession& session_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const triax::MpiSession session(&argc, &argv);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (session.rank() != 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new AbortOnFailure(session));
  int failed = 0;
  {
    const triax::KernelRuntime runtime;
    failed = RUN_ALL_TESTS();
  }
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0) failed = 1;
  int any = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
  wait(request);
  return any;
}
