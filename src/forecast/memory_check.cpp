// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/memory_check.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "kernels/base/mpi/agree.hpp"
#include "kernels/base/process/process_limits.hpp"
#include "src/forecast/memory_advice.hpp"
#include "src/forecast/plan_size.hpp"

namespace triax {
namespace {

constexpr double countable = 4e18;  // bytes that fit an int64

// Upper bound of any rank's bytes, as a double because it may not fit an int64: parameters,
// gradients and optimizer states in float32, and generous frames of all layers for all
// micro-batches.
double most_bytes(const Config& config) {
  const double rows = static_cast<double>(config.batch.micro) * config.data.sample_length();
  const double width = std::max(config.model.hidden, config.model.intermediate);
  constexpr double widths_of_a_frame = 64.0;
  const double frames =
      widths_of_a_frame * config.model.layers * static_cast<double>(config.batch.accumulation);
  constexpr double copies = 2.0 + most_states;
  return sizeof(float) * (copies * count_parameters(config.model) + rows * width * frames);
}

// Kinds of a rank's memory that are not zero, the largest first.
std::vector<MemoryKind> largest_kinds(const KindBytes& bytes) {
  std::vector<MemoryKind> kinds(memory_kinds.begin(), memory_kinds.end());
  std::stable_sort(kinds.begin(), kinds.end(), [&](const MemoryKind& a, const MemoryKind& b) {
    return bytes.*a.bytes > bytes.*b.bytes;
  });
  std::erase_if(kinds, [&](const MemoryKind& kind) { return bytes.*kind.bytes == 0; });
  return kinds;
}

// Text of the six most effective settings, and the advice to use more ranks.
std::string settings_that_shrink(const PlacedConfig& config) {
  constexpr std::size_t shown = 6;
  std::vector<std::string> settings;
  for (const MemorySaving& saving : memory_savings(config)) {
    if (settings.size() == shown) break;
    settings.push_back(fmt::format("{} ({} less per rank)", saving.setting,
                                   size_text(static_cast<double>(saving.bytes))));
  }
  const std::string ranks = fmt::format(
      "spread the job over more ranks on more machines (a larger parallel.tensor or "
      "parallel.pipeline{})",
      config.zero.stage > 0 && config.parallel.data > 1 ? ", or parallel.data" : "");
  if (settings.empty()) return "Choose a smaller model, or " + ranks;
  return fmt::format("Settings that shrink it, the most effective first: {}. Or {}",
                     fmt::join(settings, "; "), ranks);
}

// Bytes of a rank that count against `limit`.
KindBytes limited(const RankMemory& memory, const MemoryLimit& limit) {
  return limit.space == MemorySpace::device ? memory.on_gpu() : memory.in_memory();
}

double bytes_of(const MemoryPlan& plan, const std::vector<int>& ranks, const MemoryLimit& limit) {
  double bytes = 0.0;
  for (const int rank : ranks) bytes += static_cast<double>(limited(plan.of(rank), limit).total());
  return bytes;
}

// UsageError if the machine is too small (the job must change); Error if the limit can be raised
// (the start of the run must change).
[[noreturn]] void refuse(const MemoryLimit& limit, const std::string& problem,
                         const std::string& why, const std::string& settings) {
  if (limit.remedy.empty()) throw UsageError(problem, why, settings);
  throw Error(problem, why, fmt::format("{}. Or: {}", limit.remedy, settings));
}

}  // namespace

void check_libraries_fit(const MemoryLimit& limit) {
  if (limit.bytes <= 0.0)
    throw Error(limit.what + " leaves nothing for a run",
                "the program and its libraries take all of it", limit.remedy);
}

void check_plannable(const Config& config, const MemoryLimit& limit) {
  const double needed = planning_bytes(config);
  if (needed > limit.bytes && !limit.remedy.empty())
    throw Error(fmt::format("{} leaves {} for a run beside the program and its libraries",
                            limit.what, size_text(limit.bytes)),
                fmt::format("the plan of a step alone takes {}", size_text(needed)), limit.remedy);
  if (needed > limit.bytes)
    throw UsageError(
        fmt::format("the plan of a step does not fit {}: it takes {} of {}", limit.what,
                    size_text(needed), size_text(limit.bytes)),
        fmt::format("instructions of {} layers x {} micro-batches, forward and backward, and of "
                    "parts of offloaded state",
                    config.model.layers, config.batch.accumulation),
        "Lower gradient_accumulation_steps, train_batch_size or the model's sizes");
  if (const double all = most_bytes(config); all > countable)
    throw UsageError(
        fmt::format("the job does not fit any machine's memory: about {}", size_text(all)),
        fmt::format("{:.4g} parameters; micro-batches of {} x {} tokens",
                    count_parameters(config.model), config.batch.micro,
                    config.data.sample_length()),
        "Check the model's sizes, train_micro_batch_size_per_gpu and data.seq_length");
}

void check_plannable(const Config& config) {
  check_plannable(config, node_limit());
  const MemoryLimit own = process_limit();
  check_libraries_fit(own);
  check_plannable(config, own);
}

bool fits(const MemoryPlan& plan, const std::vector<int>& ranks, const MemoryLimit& limit) {
  return bytes_of(plan, ranks, limit) <= limit.bytes;
}

bool fits(const MemoryPlan& plan, const ProcessGrid& grid) {
  const bool fit = fits(plan, grid.ranks_of_node(), node_limit()) &&
                   fits(plan, {grid.rank()}, process_limit()) &&
                   fits(plan, grid.ranks_of_device(), gpu_limit(grid.space()));
  std::uint64_t misfits = fit ? 0 : 1;
  sum_over_ranks(grid, std::span(&misfits, 1));
  return misfits == 0;
}

void check_fits(const PlacedConfig& config, const MemoryPlan& plan, const std::vector<int>& ranks,
                const MemoryLimit& limit) {
  if (fits(plan, ranks, limit)) return;
  const double needed = bytes_of(plan, ranks, limit);
  const int fullest = *std::ranges::max_element(
      ranks, {}, [&](int rank) { return limited(plan.of(rank), limit).total(); });
  const KindBytes most = limited(plan.of(fullest), limit);
  const std::vector<MemoryKind> kinds = largest_kinds(most);
  std::vector<std::string> sizes;
  for (const MemoryKind& kind : kinds)
    sizes.push_back(
        fmt::format("{} {}", kind.name, size_text(static_cast<double>(most.*kind.bytes))));
  refuse(limit,
         fmt::format("the job does not fit {}: {} rank(s) there need {} and it has {}", limit.what,
                     ranks.size(), size_text(needed), size_text(limit.bytes)),
         fmt::format("rank {} needs {}: {}", fullest, size_text(static_cast<double>(most.total())),
                     fmt::join(sizes, ", ")),
         settings_that_shrink(config));
}

void check_fits(const PlacedConfig& config, const MemoryPlan& plan, const ProcessGrid& grid) {
  agreed(grid, [&] {
    check_fits(config, plan, grid.ranks_of_node(), node_limit());
    check_fits(config, plan, {grid.rank()}, process_limit());
    check_fits(config, plan, grid.ranks_of_device(), gpu_limit(grid.space()));
  });
}

}  // namespace triax
