// SPDX-License-Identifier: Apache-2.0
// main() of every test program, alone or under mpiexec.
#include <fnmatch.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>

#include "kernels/base/mpi/wait.hpp"
#include "kernels/parallel/runtime.hpp"
#include "src/comm/launch/mpi_session.hpp"

namespace {

// Waits without spinning, because tests run more ranks than a small machine has cores.
void wait(MPI_Request request) {
  if (triax::wait_for(request, triax::WaitPolicy::yield) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  wait(request);
}

// Ends the job at a fatal failure of one rank, which would leave the others waiting in a
// collective.
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

bool is_of_a_test(const std::string& pattern) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string name = std::string(suite.name()) + '.' + suite.GetTestInfo(t)->name();
      if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
    }
  }
  return false;
}

// Whether every pattern of GTEST_FILTER, up to a '-', matches a test. A pattern of a renamed test
// would silently match none.
bool every_pattern_is_of_a_test() {
  std::istringstream patterns(GTEST_FLAG_GET(filter));
  bool all = true;
  for (std::string pattern; std::getline(patterns, pattern, ':');) {
    const bool last = pattern.find('-') != std::string::npos;
    pattern.resize(std::min(pattern.find('-'), pattern.size()));
    if (!pattern.empty() && !is_of_a_test(pattern)) {
      std::fprintf(stderr, "no test is of the pattern %s\n", pattern.c_str());
      all = false;
    }
    if (last) break;
  }
  return all;
}

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
  if (!every_pattern_is_of_a_test()) failed = 1;
  int any = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
  wait(request);
  return any;
}
