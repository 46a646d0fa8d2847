#include "src/comm/wait.hpp"

#include <sched.h>
#include <time.h>

#include <limits>

namespace triax {
namespace {

// Measured on 2 cores with 4 and 8 ranks: most messages between running ranks end within the first
// few tests; handing the core on ends most others (20 us for a small all-reduce of 4 ranks, where
// sleeping at once takes 150 us); but a rank that waits through another's long computation must
// sleep, since yielding alone slows that computation by half.
//
// A rank with a core of its own yields too, later, and never sleeps: that costs nothing on an idle
// core, and other programs on the machine may have its partner's core (12 ms a message without).
struct Patience {
  int tests_before_yield;
  int tests_before_nap;
};
constexpr Patience patience_of(WaitPolicy policy) {
  return policy == WaitPolicy::spin ? Patience{1000, std::numeric_limits<int>::max()}
                                    : Patience{20, 500};
}
constexpr timespec nap = {0, 1000};  // the kernel's timer slack makes it about 55 us

void give_way(int tests, const Patience& patience) {
  if (tests < patience.tests_before_yield) return;
  if (tests < patience.tests_before_nap)
    sched_yield();
  else
    nanosleep(&nap, nullptr);
}

}  // namespace

int wait_for(MPI_Request& request, WaitPolicy policy, MPI_Status* status) {
  const Patience patience = patience_of(policy);
  for (int tests = 0;; tests += tests < patience.tests_before_nap ? 1 : 0) {
    int done = 0;
    const int code = MPI_Test(&request, &done, status);
    if (code != MPI_SUCCESS || done != 0) return code;
    give_way(tests, patience);
  }
}

}  // namespace triax
