// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/run_costs.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <vector>

#include "src/forecast/dry_run.hpp"
#include "src/forecast/process_memory.hpp"

namespace triax {

KindBytes used_by_kind(KindBytes allocated, std::int64_t peak) {
  allocated.communication = 0;
  allocated.communication = std::max<std::int64_t>(0, peak - allocated.total());
  return allocated;
}

std::string used_text(const KindBytes& used, std::int64_t peak) {
  const std::int64_t untouched = used.total() - peak;
  if (untouched <= 0) return memory_text(used);
  constexpr double mib = 1 << 20;
  return fmt::format("{}; {:.1f} MiB of it never were resident", memory_text(used),
                     static_cast<double>(untouched) / mib);
}

std::string hidden_text(Axis axis, const MessageTimes& times, double seconds) {
  if (times.under_way <= 0.0) return {};
  return fmt::format(
      "messages of the {} axis: {:.3g} s under way, {:.3g} s of it spent on them: {:.0f}% hidden, "
      "{:.1f}% of the time lost",
      name_of(axis), times.under_way, times.spent,
      100.0 * std::max(0.0, 1.0 - times.spent / times.under_way),
      std::min(100.0, 100.0 * times.spent / seconds));
}

// Times of host messages: NCCL messages are not clocked.
void report_messages(ProcessGrid& grid, double seconds) {
  if (grid.space() == MemorySpace::device && !grid.stages_messages()) return;
  std::array<double, 2 * all_axes.size()> sums{};
  std::size_t at = 0;
  for (const Axis axis : all_axes) {
    const MessageTimes times = grid.message_times(axis);
    sums[at++] = times.under_way;
    sums[at++] = times.spent;
  }
  const Stream host;
  grid.world()
      .all_reduce(host, Tensor(sums.data(), {static_cast<std::int64_t>(sums.size())}))
      .wait(host);
  if (grid.rank() != 0) return;
  at = 0;
  for (const Axis axis : all_axes) {
    const double ranks = grid.size();
    const MessageTimes mean{sums[at] / ranks, sums[at + 1] / ranks};
    at += 2;
    if (const std::string text = hidden_text(axis, mean, seconds); !text.empty())
      spdlog::info("{}", text);
  }
}

MemoryReport report_memory(ProcessGrid& grid, const JobPlan& plan, const Allocations& allocated) {
  const std::int64_t peak = peak_resident_bytes();
  KindBytes held = by_kind(allocated, plan.program);
  held -= on_gpu_by_kind(allocated);
  const KindBytes used = used_by_kind(held, peak);
  constexpr std::size_t count = memory_kinds.size() + 1;  // the last: the peak
  std::vector<std::int64_t> all(count * static_cast<std::size_t>(grid.size()));
  const Tensor ranks(all.data(), DType::i64, {grid.size(), std::int64_t{count}});
  const Tensor own = ranks.slice(0, grid.rank(), 1);
  for (std::size_t k = 0; k + 1 < count; ++k)
    own.as<std::int64_t>()[k] = used.*memory_kinds[k].bytes;
  own.as<std::int64_t>()[count - 1] = peak;
  const Stream host;
  grid.world().all_gather(host, ranks, own).wait(host);
  if (grid.rank() != 0) return {};
  const auto peak_of = [&](int rank) {
    return all[static_cast<std::size_t>(rank + 1) * count - 1];
  };
  int fullest = 0;
  for (int rank = 1; rank < grid.size(); ++rank)
    if (peak_of(rank) > peak_of(fullest)) fullest = rank;
  KindBytes most;
  for (std::size_t k = 0; k + 1 < count; ++k)
    most.*memory_kinds[k].bytes = all[static_cast<std::size_t>(fullest) * count + k];
  spdlog::info("rank {} was planned to hold {}", fullest,
               memory_text(plan.memory.of(fullest).in_memory()));
  spdlog::info("rank {} has used            {}", fullest, used_text(most, peak_of(fullest)));
  return {fullest, plan.memory.of(fullest).in_memory(), most};
}

}  // namespace triax
