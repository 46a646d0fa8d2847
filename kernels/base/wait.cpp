#include "kernels/base/wait.hpp"

#include <sched.h>
#include <time.h>

#include <limits>

namespace triax {
namespace {

constexpr timespec nap = {0, 1000};  // the kernel's timer slack makes it about 55 us

}  // namespace

// Measured on 2 cores with 4 and 8 ranks: most messages between running ranks end within the first
// few tests; handing the core on ends most others (20 us for a small all-reduce of 4 ranks, where
// sleeping at once takes 150 us); but a rank that waits through another's long computation must
// sleep, since yielding alone slows that computation by half.
//
// A rank with a core of its own yields too, later, and never sleeps: that costs nothing on an idle
// core, and other programs on the machine may have its partner's core (12 ms a message without).
Patience::Patience(WaitPolicy policy)
    : pauses_before_yield_(policy == WaitPolicy::spin ? 1000 : 20),
      pauses_before_nap_(policy == WaitPolicy::spin ? std::numeric_limits<int>::max() : 500) {}

void Patience::pause() {
  if (pauses_ >= pauses_before_nap_) {
    nanosleep(&nap, nullptr);
    return;
  }
  if (pauses_++ >= pauses_before_yield_) sched_yield();
}

}  // namespace triax
