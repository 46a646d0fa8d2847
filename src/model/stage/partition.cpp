// SPDX-License-Identifier: Apache-2.0
#include "src/model/stage/partition.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/base/check.hpp"
#include "src/model/families/attention_kind.hpp"
#include "src/model/families/families.hpp"

namespace triax {
namespace {

// Attention's forward FLOPs of one token in a block.
double attention_flops(const ModelConfig& model, int block, std::int64_t length) {
  const double width = static_cast<double>(model.heads) * model.head_size;
  return 2 * (2 * width * keys_per_query(model, block, length));
}

// Costs of runs of blocks: FLOPs over the chunk's speed. The last chunk has the head too.
class Costs {
 public:
  Costs(const ModelConfig& model, int chunks, std::int64_t length, std::vector<double> speeds)
      : chunks_(chunks), head_(head_flops(model)), speeds_(std::move(speeds)), until_{0.0} {
    for (int block = 0; block < model.layers; ++block)
      until_.push_back(until_.back() + block_flops(model, block, length));
  }
  double operator()(int chunk, int begin, int end) const {
    const double flops = until_[static_cast<std::size_t>(end)] -
                         until_[static_cast<std::size_t>(begin)] +
                         (chunk == chunks_ - 1 ? head_ : 0.0);
    return speeds_.empty() ? flops : flops / speeds_[static_cast<std::size_t>(chunk)];
  }

 private:
  int chunks_;
  double head_;
  std::vector<double> speeds_;  // by chunk
  std::vector<double> until_;   // by block: cost of all blocks before it
};

using Table = std::vector<std::vector<double>>;
constexpr double never = std::numeric_limits<double>::infinity();

// Best value of any partition of the first blocks into the first chunks, by chunks and blocks:
// join(value of the chunks before, cost of the last chunk) is minimised. `from`: where that chunk
// begins. Ties go to a later begin.
template <class Join>
Table best_partitions(const Costs& cost, int chunks, int blocks, Join join,
                      std::vector<std::vector<int>>* from = nullptr) {
  const auto n = static_cast<std::size_t>(blocks) + 1;
  Table best(static_cast<std::size_t>(chunks) + 1, std::vector<double>(n, never));
  if (from != nullptr) from->assign(best.size(), std::vector<int>(n, 0));
  best[0][0] = 0.0;
  for (int c = 1; c <= chunks; ++c) {
    const auto row = static_cast<std::size_t>(c);
    for (int end = c; end <= blocks; ++end) {
      const auto column = static_cast<std::size_t>(end);
      for (int begin = end - 1; begin >= c - 1; --begin) {
        const double own = cost(c - 1, begin, end);
        if (join(0.0, own) >= best[row][column]) break;  // no earlier begin is better
        const double value = join(best[row - 1][static_cast<std::size_t>(begin)], own);
        if (value >= best[row][column]) continue;
        best[row][column] = value;
        if (from != nullptr) (*from)[row][column] = begin;
      }
    }
  }
  return best;
}

}  // namespace

double block_flops(const ModelConfig& model, int block, std::int64_t sequence_length) {
  const double e = model.hidden;
  const double d = model.head_size;
  const double q = model.heads * d;
  const double kv = model.kv_heads * d;
  const double mlp_maps = family_of(model).block.gated() ? 3 : 2;
  const double weights = e * (q + 2 * kv) + q * e + mlp_maps * e * model.intermediate;
  return 2 * weights + attention_flops(model, block, sequence_length);
}

double head_flops(const ModelConfig& model) {
  return 2 * static_cast<double>(model.hidden) * model.vocabulary;
}

double attention_flops_per_token(const ModelConfig& model, std::int64_t sequence_length) {
  double sum = 0.0;
  for (int block = 0; block < model.layers; ++block)
    sum += attention_flops(model, block, sequence_length);
  return 3.0 * sum;
}

double training_flops_per_token(const ModelConfig& model, std::int64_t sequence_length) {
  double sum = head_flops(model);
  for (int block = 0; block < model.layers; ++block)
    sum += block_flops(model, block, sequence_length);
  return 3.0 * sum;
}

std::vector<int> partition_blocks(const ModelConfig& model, int chunks,
                                  std::int64_t sequence_length, const std::vector<double>& speeds) {
  const int blocks = model.layers;
  if (chunks > blocks)
    throw UsageError(
        fmt::format("{} transformer blocks cannot fill {} pipeline chunks", blocks, chunks),
        "each stage, or each chunk of an interleaved stage, needs at least one",
        "Lower parallel.pipeline or parallel.chunks");
  const Costs cost(model, chunks, sequence_length, speeds);
  const auto largest = [](double before, double chunk) { return std::max(before, chunk); };
  const double bound = best_partitions(cost, chunks, blocks, largest).back().back();
  const double unit = bound > 0.0 ? bound : 1.0;
  // Sums of costs differ in their last bits.
  constexpr double rounding = 1.0 + 1e-12;
  std::vector<std::vector<int>> from;
  best_partitions(
      cost, chunks, blocks,
      [&](double before, double chunk) {
        return chunk > bound * rounding ? never : before + chunk / unit * (chunk / unit);
      },
      &from);
  std::vector<int> cuts(static_cast<std::size_t>(chunks) + 1, blocks);
  for (int c = chunks; c > 0; --c) {
    const auto row = static_cast<std::size_t>(c);
    cuts[row - 1] = from[row][static_cast<std::size_t>(cuts[row])];
  }
  return cuts;
}

std::vector<int> cuts_of(const std::vector<int>& layers) {
  std::vector<int> cuts = {0};
  for (const int blocks : layers) cuts.push_back(cuts.back() + blocks);
  return cuts;
}

}  // namespace triax
