// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/straggler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "kernels/base/mpi/agree.hpp"

namespace triax {

double seconds_on_messages(const ProcessGrid& grid) {
  double spent = 0.0;
  for (const Axis axis : all_axes) spent += grid.message_times(axis).spent;
  return spent;
}

bool one_is_waited_for(const MessageShare& share) {
  return share.mean > 0.05 * share.seconds && share.least < 0.5 * share.mean;
}

int rank_of_least(const std::vector<double>& spent) {
  return static_cast<int>(std::ranges::min_element(spent) - spent.begin());
}

std::string straggler_text(ProcessGrid& grid, double seconds) {
  std::vector<double> spent(static_cast<std::size_t>(grid.size()));
  double own = seconds_on_messages(grid);
  const Stream host;
  grid.world().all_gather(host, Tensor(spent.data(), {grid.size()}), Tensor(&own, {1})).wait(host);
  const int slowest = rank_of_least(spent);
  const std::string place = broadcast_text(grid, grid.place(), slowest);
  const MessageShare share{std::accumulate(spent.begin(), spent.end(), 0.0) / grid.size(),
                           spent[static_cast<std::size_t>(slowest)], seconds};
  if (!one_is_waited_for(share)) return {};
  return fmt::format(
      "{} has spent {:.3g} s on messages; the mean over ranks is {:.3g} s of {:.3g} s: the others "
      "wait for it. Check whether its node is slower or its share of the model larger",
      place, share.least, share.mean, seconds);
}

}  // namespace triax
