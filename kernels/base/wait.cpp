// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/wait.hpp"

#include <sched.h>
#include <time.h>

#include <limits>

namespace triax {
namespace {

constexpr timespec nap = {0, 1000};  // the kernel's timer slack makes it about 55 us

}  // namespace

// Measured on 2 cores with 4 and 8 ranks. Most messages between running ranks end within the first
// few tests. Yielding the core ends most others: a small all-reduce of 4 ranks takes 20 us, and 150
// us when ranks sleep at once. A rank that waits through another's long computation must sleep:
// yielding alone slows that computation by half.
//
// A rank with a core of its own yields later and never sleeps. That costs nothing on an idle core,
// and other programs on the machine may occupy its partner's core (12 ms per message without).
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
