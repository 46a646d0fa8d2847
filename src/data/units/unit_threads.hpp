// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work on units by all threads of all ranks.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// Numbers that the threads of a rank share.
struct UnitCounters {
  std::atomic<std::int64_t> bytes = 0;      // on disk, of the units that are done or under way
  std::atomic<std::int64_t> bad_lines = 0;  // of the units that are done or under way
  std::atomic<bool> stop = false;           // another thread or rank failed
};

/// Work of one thread on the unit of a number.
using UnitWork = std::function<void(std::size_t unit)>;
/// Makes the work of thread `thread`; called by that thread.
using MakeUnitWork = std::function<UnitWork(int thread)>;
/// Called on every rank a few times per second with the bytes read by all ranks so far.
using UnitProgress = std::function<void(std::int64_t bytes)>;

/// Collective. `threads` threads of this rank work on its units `own`, in their order. Error on all
/// ranks where one fails; `counters.stop` is then set on all of them.
void work_on_units(const Ranks& ranks, int threads, const std::vector<std::size_t>& own,
                   UnitCounters& counters, const MakeUnitWork& make_work,
                   const UnitProgress& progress);

}  // namespace triax
