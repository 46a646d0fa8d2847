// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/optimizer_layout.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "src/state/optimizer/packed_states.hpp"

namespace triax {
namespace {

constexpr const char* master_dataset = "/master";

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

void sort_by_begin(std::vector<SteppedRun>& runs) {
  std::ranges::sort(runs, {}, [](const SteppedRun& run) { return run.range.begin; });
}

// Ranges of a parameter, the `index`-th of its bucket: one, unless tensors that share it have
// different options. Elements of no tensor go with those before them.
std::vector<SteppedRun> runs_of(const PlacedParameter& param, int index,
                                const OptimizerConfig& config, const TensorStarts& starts) {
  const ParameterSpec& spec = param.spec;
  const auto options = [&](const Piece& piece) {
    TensorOptions of_tensor = tensor_options(config, piece.name, spec.decays());
    if (const auto start = starts.find(piece.name); start != starts.end())
      of_tensor.start = start->second;
    return of_tensor;
  };
  const TensorOptions first = options(spec.pieces.front());
  if (std::ranges::all_of(spec.pieces, [&](const Piece& p) { return options(p) == first; }))
    return {{param.range(), first, index}};
  std::vector<SteppedRun> runs;
  for (const Piece& piece : spec.pieces)
    for_each_run(intersect(piece, spec.shape, 0, spec.shape.elements()), spec.shape,
                 [&](std::int64_t at, std::int64_t, std::int64_t count) {
                   const std::int64_t begin = param.offset + at;
                   runs.push_back({{begin, begin + count}, options(piece), index});
                 });
  sort_by_begin(runs);
  for (std::size_t r = 0; r < runs.size(); ++r)
    runs[r].range.end = r + 1 < runs.size() ? runs[r + 1].range.begin : param.range().end;
  runs.front().range.begin = param.offset;
  return runs;
}

using NamedKind = std::pair<std::string, StateKind>;

// Datasets of a bucket's state: of each kind that its parameters have.
std::vector<NamedKind> stored_kinds(const ParameterBlock& block,
                                    const std::vector<StateKind>& states, bool has_master) {
  std::vector<NamedKind> kinds;
  for (const StateKind& state : states)
    if (has_state(state, block)) kinds.emplace_back(std::string("/optimizer/") + state.name, state);
  if (has_master) kinds.emplace_back(master_dataset, StateKind{.name = "master"});
  return kinds;
}

}  // namespace

std::vector<FlatRange> counted_ranges(const ParameterBlock& block) {
  std::vector<FlatRange> ranges;
  if (block.duplicate || !block.trained) return ranges;
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

std::vector<SteppedRun> stepped_runs(const ParameterBlock& block, const OptimizerConfig& config,
                                     bool apart, const TensorStarts& starts) {
  std::vector<SteppedRun> all, runs;
  for (int p = 0; p < std::ssize(block.params); ++p)
    for (SteppedRun run : runs_of(block.params[static_cast<std::size_t>(p)], p, config, starts)) {
      run.range = intersect(run.range, block.stepped);
      if (run.range.count() > 0) all.push_back(run);
    }
  sort_by_begin(all);
  for (const SteppedRun& run : all) {
    const bool joins = !runs.empty() && runs.back().options == run.options &&
                       runs.back().range.end == run.range.begin &&
                       (!apart || runs.back().parameter == run.parameter);
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

StoredState stored_state(const std::vector<ParameterBlock>& blocks,
                         const std::vector<StateKind>& states, bool has_master) {
  StoredState stored;
  for (int b = 0; b < std::ssize(blocks); ++b) {
    const ParameterBlock& block = blocks[static_cast<std::size_t>(b)];
    stored.first_unit.push_back(static_cast<int>(stored.units.size()));
    const std::vector<NamedKind> kinds = stored_kinds(block, states, has_master);
    std::vector<std::int64_t> ends(kinds.size());  // of the sub-groups so far
    for (std::size_t p = static_cast<std::size_t>(block.kept_parts); p < block.parts.size(); ++p) {
      OffloadUnit& unit = stored.units.emplace_back();
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        const StateKind& kind = kinds[k].second;
        const std::int64_t held = state_elements(kind, block, block.parts[p].count());
        const bool last = p + 1 == block.parts.size();  // others fill pages
        const std::int64_t count = last ? held : padded_elements(kind.type, held);
        unit.runs.push_back({stored.datasets.size() + k, ends[k], count});
        ends[k] += count;
      }
    }
    if (block.parts.empty()) continue;
    for (std::size_t k = 0; k < kinds.size(); ++k)
      stored.datasets.push_back(
          {fmt::format("{}/block {}", kinds[k].first, b), kinds[k].second.type, ends[k]});
  }
  return stored;
}

void set_stored(OptimizerBytes& bytes, const std::vector<OffloadDataset>& datasets) {
  bytes.stored_master = bytes.stored_moments = 0;
  for (const OffloadDataset& dataset : datasets)
    (dataset.name.starts_with(master_dataset) ? bytes.stored_master : bytes.stored_moments) +=
        padded_bytes(dataset);
}

OptimizerBytes optimizer_bytes(const std::vector<ParameterBlock>& blocks,
                               const std::vector<StateKind>& states, const StateOptions& options,
                               const StateBuffers& buffers) {
  const bool has_master = options.type != DType::f32;
  constexpr auto of_a_master = static_cast<std::int64_t>(sizeof(float));
  OptimizerBytes bytes;
  for (const ParameterBlock& block : blocks) {
    const std::int64_t count = kept_state_range(block).count();
    const std::int64_t moments = bytes_of(states, block, count);
    bytes.moments += moments;
    if (has_master) bytes.master += of_a_master * count;
    if (!block.host_state) continue;
    bytes.host_moments += moments;
    if (has_master) bytes.host_master += of_a_master * count;
  }
  bytes.orthogonalization = Orthogonalizer::bytes_of(blocks);
  if (steps_on_host(blocks, options.space))
    bytes.host_step = HostStep::bytes_of(options.type, options.gradient_type);
  const StoredState stored = stored_state(blocks, states, has_master);
  bytes.buffers = offload_bytes(stored.datasets, stored.units, {buffers.count}).buffers;
  set_stored(bytes, stored.datasets);
  return bytes;
}

}  // namespace triax
