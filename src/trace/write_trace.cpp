// SPDX-License-Identifier: Apache-2.0
#include "src/trace/write_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "kernels/base/mpi/agree.hpp"
#include "src/trace/clock_offset.hpp"
#include "src/trace/rank_rows.hpp"
#include "src/version/build_facts.hpp"
#include "src/version/version.hpp"

namespace triax {
namespace {

Tensor bytes_of(const OpStamps* stamps, std::size_t count) {
  return {const_cast<OpStamps*>(stamps),  // messages that are sent are not changed
          DType::u8,
          {static_cast<std::int64_t>(count * sizeof(OpStamps))}};
}

std::int64_t first_stamp(std::span<const OpStamps> stamps) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const OpStamps& one : stamps)
    if (one.end != 0) first = std::min(first, one.begin);
  return first;
}

TracedRank traced_rank(const GridShape& shape, int rank) {
  const int data = shape.coordinate(rank, Axis::data),
            stage = shape.coordinate(rank, Axis::pipeline),
            tensor = shape.coordinate(rank, Axis::tensor);
  return {
      .rank = rank,
      .stage = stage,
      .replica = data * shape.tensor + tensor,
      .name = fmt::format("rank {} (data {}, pipeline {}, tensor {})", rank, data, stage, tensor)};
}

// Begin of the first traced step on any rank, on rank 0's clock. Collective; on rank 0 only.
std::int64_t first_begin(const ProcessGrid& grid, const StepRecorder& recorder,
                         const std::vector<std::int64_t>& offsets) {
  const std::array<std::int64_t, 1> own = {first_stamp(recorder.all())};
  const std::vector<std::int64_t> begins = gather_over_ranks(grid, own);
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (std::size_t rank = 0; rank < offsets.size(); ++rank)
    first = std::min(first, begins[rank] + offsets[rank]);
  return first;
}

// Facts that trace compare and the report need beside the job.
std::string facts_of(const ProcessGrid& grid, const TraceSteps& steps) {
  const GridShape& shape = grid.shape();
  return nlohmann::ordered_json{
      {"program", fmt::format("triax {} ({})", version, commit())},
      {"ranks", shape.size()},
      {"ranks_per_node", grid.node_size()},
      {"device", grid.space() == MemorySpace::device ? "gpu" : "cpu"},
      {"times", grid.space() == MemorySpace::device ? "of the host, which issues work to the GPU"
                                                    : "of the instructions"},
      {"grid", {{"data", shape.data}, {"pipeline", shape.pipeline}, {"tensor", shape.tensor}}},
      {"steps", {steps.first, steps.end}}}
      .dump();
}

// Calls `use` with the stamps of each rank in turn, on rank 0's clock. On rank 0.
template <class Use>
void receive_stamps(ProcessGrid& grid, const StepRecorder& own, const StepPlans& plans,
                    const std::vector<std::int64_t>& offsets, const Use& use) {
  const Stream host;
  std::vector<OpStamps> stamps;
  for (int rank = 0; rank < grid.size(); ++rank) {
    const int stage = grid.shape().coordinate(rank, Axis::pipeline);
    const Plan& plan = plans.training[static_cast<std::size_t>(stage)];
    if (rank == 0) {
      stamps.assign(own.all().begin(), own.all().end());
    } else {
      stamps.resize(static_cast<std::size_t>(own.steps().count()) * (plan.size() + 1));
      grid.world().receive(host, bytes_of(stamps.data(), stamps.size()), rank, rank).wait(host);
    }
    for (OpStamps& one : stamps)
      if (one.end != 0)
        one = {one.begin + offsets[static_cast<std::size_t>(rank)],
               one.end + offsets[static_cast<std::size_t>(rank)]};
    use(rank, plan, stamps);
  }
}

}  // namespace

std::string write_trace(ProcessGrid& grid, const StepRecorder& recorder, const StepPlans& plans,
                        const std::string& path) {
  const std::vector<std::int64_t> offsets = clock_offsets(grid);
  const std::int64_t zero = first_begin(grid, recorder, offsets);
  if (grid.rank() != 0) {
    const Stream host;
    const auto own = recorder.all();
    grid.world().send(host, bytes_of(own.data(), own.size()), 0, grid.rank()).wait(host);
    return {};
  }
  // Rank 0 receives all stamps even if the file cannot be written: the others wait for that.
  std::string problem;
  std::optional<TraceWriter> out;
  const auto guarded = [&](const auto& action) {
    if (!problem.empty()) return;
    try {
      action();
    } catch (const Error& error) {
      problem = error.what();
    }
  };
  guarded([&] { out.emplace(path); });
  receive_stamps(grid, recorder, plans, offsets,
                 [&](int rank, const Plan& plan, const auto& stamps) {
                   guarded([&] {
                     write_rank_rows(*out, traced_rank(grid.shape(), rank), plans.shape, plan,
                                     recorder.steps(), stamps, zero);
                   });
                 });
  guarded([&] { out->close(facts_of(grid, recorder.steps())); });
  return problem;
}

}  // namespace triax
