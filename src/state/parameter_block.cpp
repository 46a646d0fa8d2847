// SPDX-License-Identifier: Apache-2.0
#include "src/state/parameter_block.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "io/offload/offload_file.hpp"

namespace triax {
namespace {

constexpr std::int64_t cache_line = 16;  // elements of float32

std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// Elements of a parameter that a partial piece covers: whole rows, or a range of a vector.
FlatRange flat_range(const Piece& piece, const Shape& local) {
  if (local.rank() == 1) return {piece.at[0], piece.at[0] + piece.extent[0]};
  check(piece.extent[1] == local[1], "partial gradients of some columns of {}", piece.name);
  return {piece.at[0] * local[1], (piece.at[0] + piece.extent[0]) * local[1]};
}

bool has_partial(const ParameterSpec& spec) {
  return std::any_of(spec.pieces.begin(), spec.pieces.end(),
                     [](const Piece& p) { return p.partial; });
}

// Notes the partial pieces of a placed parameter. Adjacent pieces summed over the same ranks are
// merged; padding between parameters is not summed.
void add_partial(ParameterBlock& block, const PlacedParameter& param, int tensor_size) {
  for (const Piece& piece : param.spec.pieces) {
    if (!piece.partial) continue;
    const FlatRange local = flat_range(piece, param.spec.shape);
    const PartialRange next{{param.offset + local.begin, param.offset + local.end},
                            tensor_size / piece.copies};
    const bool joins = !block.partial.empty() && block.partial.back().parts == next.parts &&
                       block.partial.back().range.end == next.range.begin;
    if (joins)
      block.partial.back().range.end = next.range.end;
    else
      block.partial.push_back(next);
  }
}

// Assigns offsets. Parameters with partial gradients come last, so that one message sums them;
// parameters with weight decay come before the others, so that few ranges are stepped.
void place(ParameterBlock& block, int tensor_size, const DataShard& data) {
  std::vector<std::size_t> order(block.params.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto rank = [&](std::size_t i) {
    const ParameterSpec& spec = block.params[i].spec;
    return std::pair(has_partial(spec), !spec.decays());
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  std::int64_t end = 0;  // end of the previous parameter
  for (const std::size_t i : order) {
    block.params[i].offset = round_up(end, data.alignment);
    if (block.trained) add_partial(block, block.params[i], tensor_size);
    end = block.params[i].offset + block.params[i].spec.room();
  }
  block.elements = round_up(end, data.alignment * data.size);
  block.own = part_of_rank(block.elements, data.size, data.rank);
  const FlatRange all{0, block.elements};
  block.parameters = block.sharded() ? block.own : all;
  if (!block.trained) return;
  block.stepped = data.zero_stage >= 1 ? block.own : all;
  block.gradients = data.zero_stage >= 2 ? block.own : all;
}

// Cuts the gather after the optimizer steps into equal pieces if it exceeds the limit. A piece has
// at least one element per rank, and whole cache lines if it is that long.
void cut_gather(ParameterBlock& block, const DataShard& data) {
  if (!block.trained || block.sharded() || data.zero_stage == 0 || data.size == 1) return;
  if (block.elements <= data.gather_limit) return;
  const std::int64_t part = block.own.count();
  std::int64_t run = std::max<std::int64_t>(1, data.gather_limit / data.size);
  if (run >= cache_line) run = run / cache_line * cache_line;
  const std::int64_t pieces = (part + run - 1) / run;
  const std::int64_t even = (part + pieces - 1) / pieces;
  block.gather_piece = data.size * (run >= cache_line ? round_up(even, cache_line) : even);
}

// Cuts `stepped` into the range kept in memory and equal sub-groups of the rest, aligned to file
// pages.
void cut_parts(ParameterBlock& block, const StateOffload& offload, std::int64_t alignment) {
  const FlatRange& stepped = block.stepped;
  const auto kept = static_cast<std::int64_t>((1.0 - offload.optimizer_share) *
                                              static_cast<double>(stepped.count())) /
                    alignment * alignment;
  const std::int64_t stored = stepped.count() - kept;
  if (offload.optimizer_share <= 0.0 || stored == 0) return;
  if (kept > 0) {
    block.parts.push_back({stepped.begin, stepped.begin + kept});
    block.kept_parts = 1;
  }
  constexpr std::int64_t page = padded_elements(DType::f32, 1);
  const std::int64_t limit = std::max(page, offload.part_elements / page * page);
  const std::int64_t count = (stored + limit - 1) / limit;
  const std::int64_t part = round_up((stored + count - 1) / count, page);
  for (std::int64_t begin = stepped.begin + kept; begin < stepped.end; begin += part)
    block.parts.push_back({begin, std::min(begin + part, stepped.end)});
}

// Chooses homes in bucket order: shards that fit the limit stay in compute memory, the next ones go
// to the host up to its limit, the others to the disk.
void choose_stored(std::vector<ParameterBlock>& blocks, const StateOffload& offload) {
  std::int64_t all = 0;
  for (const ParameterBlock& block : blocks)
    if (block.sharded()) all += block.parameters.count();
  const auto share =
      static_cast<std::int64_t>((1.0 - offload.parameter_share) * static_cast<double>(all));
  const std::int64_t limit = std::max(offload.kept_parameters, share);
  std::int64_t kept = 0, hosted = 0;
  for (ParameterBlock& block : blocks) {
    if (!block.sharded() || !offload.parameters) continue;
    const std::int64_t count = block.parameters.count();
    if (kept + count <= limit) {
      kept += count;
    } else if (offload.host_parameters - hosted >= count) {
      block.home = ParameterHome::host;
      hosted += count;
    } else {
      block.home = ParameterHome::disk;
    }
  }
}

// Puts on the host the state of the last buckets, up to the host share, and of buckets whose state
// is entirely in a store.
void choose_host_state(std::vector<ParameterBlock>& blocks, const StateOffload& offload) {
  if (!offload.of_device) return;
  std::int64_t all = 0, end = 0;
  for (const ParameterBlock& block : blocks) all += kept_state_range(block).count();
  const double stays = (1.0 - offload.host_share) * static_cast<double>(all);
  for (ParameterBlock& block : blocks) {
    const std::int64_t kept = kept_state_range(block).count();
    end += kept;
    block.host_state = block.trained && (kept == 0 || static_cast<double>(end) > stays);
  }
}

// Collects parameters into buckets in layer order.
class Collector {
 public:
  Collector(const Stage& stage, const DataShard& data) : stage_(stage), data_(data) {}

  void add_layer(int chunk, int layer) {
    Buckets own = none;
    const auto& params = stage_.layer(chunk, layer).params();
    for (std::size_t index = 0; index < params.size(); ++index) {
      const ParameterSpec& spec = params[index];
      const BlockContent content = content_of(spec);
      Buckets& buckets = content == BlockContent::tied_embedding     ? tied_
                         : content == BlockContent::small_parameters ? small_
                                                                     : own;
      const bool matrix = data_.matrices_apart && spec.trained && spec.matrix;
      int& block = buckets[matrix ? 2 : spec.trained ? 1 : 0];
      const bool shared = spec.tied && block >= 0;
      if (block < 0) {
        block = open(content, spec.trained, matrix, stage_.name(chunk, layer));
        blocks_.back().saved = !stage_.has_adapters();
      }
      blocks_[static_cast<std::size_t>(block)].saved |= spec.adapter;
      auto& members = blocks_[static_cast<std::size_t>(block)].params;
      if (!shared) members.push_back({spec, 0, {}});
      members.back().uses.push_back(
          {chunk, layer, index, spec.read_in_backward, spec.written_in_forward});
    }
  }
  std::vector<ParameterBlock> take() { return std::move(blocks_); }

 private:
  using Buckets = std::array<int, 3>;  // index of the frozen, the trained one, that of matrices
  static constexpr Buckets none = {-1, -1, -1};

  BlockContent content_of(const ParameterSpec& spec) const {
    if (spec.tied) return BlockContent::tied_embedding;
    return spec.room() <= data_.persistence_threshold ? BlockContent::small_parameters
                                                      : BlockContent::layer;
  }
  int open(BlockContent content, bool trained, bool matrices, const std::string& layer) {
    const bool tied = content == BlockContent::tied_embedding;
    const bool small = content == BlockContent::small_parameters;
    ParameterBlock& block = blocks_.emplace_back();
    block.name = tied ? "tied embedding" : small ? "small parameters" : layer;
    block.content = content;
    block.trained = trained;
    block.matrices = matrices;
    if (!trained) block.name = "frozen " + block.name;
    if (matrices) block.name = "matrices of " + block.name;
    block.duplicate = (tied && !stage_.has_embedding()) || data_.group > 0;
    if (data_.zero_stage == 3 && !small) block.home = ParameterHome::sharded;
    return static_cast<int>(blocks_.size()) - 1;
  }
  const Stage& stage_;
  DataShard data_;
  std::vector<ParameterBlock> blocks_;
  Buckets tied_ = none, small_ = none;
};

}  // namespace

FlatRange intersect(const FlatRange& a, const FlatRange& b) {
  const std::int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

FlatRange kept_state_range(const ParameterBlock& block) {
  if (block.parts.empty()) return block.stepped;
  const std::int64_t begin = block.stepped.begin;
  return {begin, block.kept_parts > 0 ? block.parts.front().end : begin};
}

int gathers_of(const ParameterBlock& block) {
  if (block.gather_piece == 0) return 1;
  return static_cast<int>((block.elements + block.gather_piece - 1) / block.gather_piece);
}

FlatRange gathered_run(const ParameterBlock& block, int piece) {
  const std::int64_t part = block.own.count();
  const std::int64_t run =
      block.gather_piece == 0 ? part : block.gather_piece / (block.elements / part);
  return {std::min(piece * run, part), std::min((piece + 1) * run, part)};
}

std::vector<ParameterBlock> lay_out_blocks(const Stage& stage, const DataShard& shard) {
  Collector collector(stage, shard);
  for (int chunk = 0; chunk < stage.chunks(); ++chunk)
    for (int layer = 0; layer < stage.layers(chunk); ++layer) collector.add_layer(chunk, layer);
  std::vector<ParameterBlock> blocks = collector.take();
  for (ParameterBlock& block : blocks) {
    place(block, stage.place().tensor.size, shard);
    cut_gather(block, shard);
    cut_parts(block, shard.offload, shard.alignment);
  }
  choose_stored(blocks, shard.offload);
  choose_host_state(blocks, shard.offload);
  return blocks;
}

}  // namespace triax
