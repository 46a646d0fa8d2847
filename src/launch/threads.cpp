// SPDX-License-Identifier: Apache-2.0
#include "src/launch/threads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "kernels/base/check.hpp"
#include "src/comm/topology/topology.hpp"

namespace triax {
namespace {

constexpr int most_threads = static_cast<int>(max_hardware_threads);

// Value of one entry of OpenMP's list, which may have blanks around it; 0: not a number from 1 to
// most_threads.
int number_of(std::string_view entry) {
  const auto begin = std::min(entry.find_first_not_of(' '), entry.size());
  entry = entry.substr(begin, entry.find_last_not_of(' ') - begin + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), number);
  const bool whole = error == std::errc() && end == entry.data() + entry.size();
  return whole && number > 0 && number <= most_threads ? number : 0;
}

// Whether the user's environment places the threads.
bool places_asked() {
  constexpr std::array names = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"};
  return std::any_of(names.begin(), names.end(),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace

int threads_asked() {
  const char* const text = std::getenv("OMP_NUM_THREADS");
  if (text == nullptr || *text == '\0') return 0;
  int first = 0;
  std::string_view left = text;
  for (bool more = true; more;) {
    const auto comma = left.find(',');
    const int number = number_of(left.substr(0, comma));
    if (number == 0)
      throw UsageError(fmt::format("OMP_NUM_THREADS is \"{}\"", text),
                       fmt::format("expected a whole number from 1 to {}", most_threads),
                       "Set it to the number of threads per rank, or unset it: triax then divides "
                       "the cores among the ranks");
    if (first == 0) first = number;
    more = comma != std::string_view::npos;
    if (more) left.remove_prefix(comma + 1);
  }
  return first;
}

int threads_of_rank(const ProcessGrid& grid) {
  const int asked = threads_asked();
  return asked > 0 ? asked : grid.cores().cores;
}

int threads_of_planned_rank(int ranks) {
  const int asked = threads_asked();
  return asked > 0 ? asked : std::max(1, share_of_cores(MPI_COMM_SELF).of_node / ranks);
}

// Beside a GPU the host's threads have little to do.
CoreBinding bind_to_cores(const CoreShare& share, MemorySpace space, int threads) {
  if (threads == 0 && threads_asked() > 0)
    return {false, fmt::format("{} thread(s) per rank, set by OMP_NUM_THREADS", threads_asked())};
  if (threads == 0) threads = share.cores;
  const CoreShare used = share.first(threads);
  if (threads > share.cores || !share.own() || places_asked() || space == MemorySpace::device ||
      !pin_to(used))
    return {false, fmt::format("{} thread(s) per rank, on {}, not pinned", threads, share.text())};
  return {true,
          fmt::format(
              "{} thread(s) per rank, pinned; rank 0 on {}. OMP_NUM_THREADS sets another number",
              threads, used.text())};
}

}  // namespace triax
