// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/optimizer_layout.hpp"

#include <algorithm>
#include <array>

namespace triax {
namespace {

// Sorts ranges and merges those that touch.
std::vector<FlatRange> joined(std::vector<FlatRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const FlatRange& a, const FlatRange& b) { return a.begin < b.begin; });
  std::vector<FlatRange> result;
  for (const FlatRange& range : ranges) {
    if (!result.empty() && result.back().end == range.begin)
      result.back().end = range.end;
    else
      result.push_back(range);
  }
  return result;
}

}  // namespace

std::vector<FlatRange> counted_ranges(const ParameterBlock& block) {
  std::vector<FlatRange> ranges;
  if (block.duplicate) return ranges;
  for (const PlacedParameter& param : block.params) {
    const Shape& shape = param.spec.shape;
    const FlatRange local =
        intersect(FlatRange{block.own.begin - param.offset, block.own.end - param.offset},
                  FlatRange{0, shape.elements()});
    for (const Piece& piece : param.spec.pieces)
      if (piece.owner)
        for_each_run(intersect(piece, shape, local.begin, local.end), shape,
                     [&](std::int64_t at, std::int64_t, std::int64_t count) {
                       ranges.push_back({param.offset + at, param.offset + at + count});
                     });
  }
  return joined(std::move(ranges));
}

std::vector<SteppedRun> stepped_runs(const ParameterBlock& block, bool apart) {
  std::vector<SteppedRun> all, runs;
  for (int p = 0; p < std::ssize(block.params); ++p) {
    const PlacedParameter& param = block.params[static_cast<std::size_t>(p)];
    const FlatRange range = intersect(param.range(), block.stepped);
    if (range.count() > 0) all.push_back({range, param.spec.decays(), p});
  }
  std::sort(all.begin(), all.end(),
            [](const SteppedRun& a, const SteppedRun& b) { return a.range.begin < b.range.begin; });
  for (const SteppedRun& run : all) {
    const bool joins = !apart && !runs.empty() && runs.back().decays == run.decays &&
                       runs.back().range.end == run.range.begin;
    if (joins)
      runs.back().range.end = run.range.end;
    else
      runs.push_back(run);
  }
  return runs;
}

bool steps_on_host(const std::vector<ParameterBlock>& blocks, MemorySpace space) {
  return space == MemorySpace::device &&
         std::any_of(blocks.begin(), blocks.end(), [](const ParameterBlock& block) {
           return block.host_state || std::ssize(block.parts) > block.kept_parts;
         });
}

StoredState stored_state(const std::vector<ParameterBlock>& blocks, bool has_master) {
  StoredState stored;
  for (int b = 0; b < std::ssize(blocks); ++b) {
    const ParameterBlock& block = blocks[static_cast<std::size_t>(b)];
    stored.first_unit.push_back(static_cast<int>(stored.units.size()));
    const std::int64_t begin = kept_state_range(block).end;
    const std::size_t kinds = has_master ? 3 : 2;
    for (std::size_t p = static_cast<std::size_t>(block.kept_parts); p < block.parts.size(); ++p) {
      OffloadUnit& unit = stored.units.emplace_back();
      for (std::size_t kind = 0; kind < kinds; ++kind)
        unit.runs.push_back(
            {stored.datasets.size() + kind, block.parts[p].begin - begin, block.parts[p].count()});
    }
    if (block.parts.empty()) continue;
    constexpr std::array names = {"/optimizer/exp_avg", "/optimizer/exp_avg_sq", "/master"};
    for (std::size_t kind = 0; kind < kinds; ++kind)
      stored.datasets.push_back(
          {fmt::format("{}/block {}", names[kind], b), DType::f32, block.stepped.end - begin});
  }
  return stored;
}

void set_stored(OptimizerBytes& bytes, std::int64_t stored, bool has_master) {
  bytes.stored_master = has_master ? stored / 3 : 0;
  bytes.stored_moments = stored - bytes.stored_master;
}

OptimizerBytes optimizer_bytes(const std::vector<ParameterBlock>& blocks,
                               const StateOptions& options, const StateBuffers& buffers) {
  const bool has_master = options.type != DType::f32;
  constexpr auto both_moments = 2 * static_cast<std::int64_t>(sizeof(float));
  OptimizerBytes bytes;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const std::int64_t moments = both_moments * kept_state_range(blocks[b]).count();
    bytes.moments += moments;
    if (blocks[b].host_state) bytes.host_moments += moments;
  }
  if (has_master) bytes.master = bytes.moments / 2;
  if (has_master) bytes.host_master = bytes.host_moments / 2;
  if (steps_on_host(blocks, options.space))
    bytes.host_step = HostStep::bytes_of(options.type, options.gradient_type);
  const StoredState stored = stored_state(blocks, has_master);
  const OffloadBytes offload = offload_bytes(stored.datasets, stored.units, {buffers.count});
  bytes.buffers = offload.buffers;
  set_stored(bytes, offload.stored, has_master);
  return bytes;
}

}  // namespace triax
