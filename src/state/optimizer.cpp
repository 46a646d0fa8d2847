#include "src/state/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/adamw.hpp"
#include "kernels/norm.hpp"

namespace triax {
namespace {

// Runs in order of their begin; those that touch become one.
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

// What this rank counts in the norm: its own part of the tensors that it owns. The pieces of one
// tensor may alternate row by row (GPT-2's q, k and v): joined, they are one run again.
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

}  // namespace

std::int64_t moment_bytes(const std::vector<ParameterBlock>& blocks) {
  std::int64_t elements = 0;
  for (const ParameterBlock& block : blocks) elements += 2 * block.stepped.count();
  return elements * static_cast<std::int64_t>(sizeof(float));
}

Optimizer::Optimizer(ParameterStore& store, const OptimizerConfig& config, double gradient_clipping)
    : store_(store), config_(config), clip_(gradient_clipping) {
  memory_ = Buffer(static_cast<std::size_t>(moment_bytes(store.blocks())));
  const Tensor flat =
      memory_.tensor(DType::f32, {static_cast<std::int64_t>(memory_.bytes() / sizeof(float))});
  std::int64_t at = 0;
  for (const ParameterBlock& block : store.blocks()) {
    const std::int64_t count = block.stepped.count();
    first_.push_back({flat.slice(0, at, count), block.stepped});
    second_.push_back({flat.slice(0, at + count, count), block.stepped});
    at += 2 * count;
    auto& runs = runs_.emplace_back();
    for (const PlacedParameter& param : block.params) {
      const FlatRange range = intersect(param.range(), block.stepped);
      if (range.count() > 0) runs.push_back({range, param.spec.decays()});
    }
    counted_.push_back(counted_ranges(block));
  }
}

double Optimizer::gradient_norm(const Stream& stream, Communicator& world) {
  norm_squares_ = 0.0;
  for (std::size_t b = 0; b < counted_.size(); ++b)
    for (const FlatRange& range : counted_[b])
      norm_squares_ += sum_of_squares(stream, store_.gradients(static_cast<int>(b)).at(range));
  world.all_reduce(stream, Tensor(&norm_squares_, {1})).wait(stream);
  const double norm = std::sqrt(norm_squares_);
  gradient_scale_ = clip_ > 0.0 ? static_cast<float>(std::min(1.0, clip_ / (norm + 1e-6))) : 1.0F;
  return norm;
}

void Optimizer::step(const Stream& stream, int index, const StepOptions& options) {
  const auto b = static_cast<std::size_t>(index);
  AdamWOptions adamw_options;
  adamw_options.learning_rate = options.learning_rate;
  adamw_options.beta1 = options.beta1;
  adamw_options.beta2 = options.beta2;
  adamw_options.epsilon = config_.epsilon;
  adamw_options.gradient_scale = gradient_scale_;
  adamw_options.step = options.step;
  for (const Run& run : runs_[b]) {
    adamw_options.weight_decay = run.decays ? config_.weight_decay : 0.0;
    adamw(stream, store_.weights(index).at(run.range), {}, store_.gradients(index).at(run.range),
          first_[b].at(run.range), second_[b].at(run.range), adamw_options);
  }
}

}  // namespace triax
