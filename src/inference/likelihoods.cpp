// SPDX-License-Identifier: Apache-2.0
#include "src/inference/likelihoods.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace triax {
namespace {

constexpr std::int32_t padding = -1;

// Four lengths per power of two: few shapes, and at most a fifth of a batch is padding.
std::int64_t padded_length(std::int64_t length, std::int64_t context) {
  constexpr std::int64_t least = 16;
  const auto ceiling = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length)));
  const std::int64_t step = std::max(least, ceiling / 8);
  return std::min((length + step - 1) / step * step, context);
}

struct RowRange {
  std::int64_t first = 0, count = 0;
};

// From the first row with a label to the last.
RowRange scored_rows(const LabelledSequence& sequence) {
  const auto is_scored = [](std::int32_t label) { return label >= 0; };
  const auto& labels = sequence.labels;
  const auto first = std::ranges::find_if(labels, is_scored);
  if (first == labels.end()) return {};
  const auto last = std::find_if(labels.rbegin(), labels.rend(), is_scored);
  return {first - labels.begin(), last.base() - first};
}

}  // namespace

std::vector<LikelihoodBatch> likelihood_batches(std::span<const LabelledSequence> sequences,
                                                std::int64_t rows, std::int64_t context) {
  std::vector<std::size_t> order(sequences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return sequences[a].inputs.size() > sequences[b].inputs.size();
  });
  std::vector<LikelihoodBatch> batches;
  for (std::size_t first = 0; first < order.size();) {
    const std::int64_t length = padded_length(std::ssize(sequences[order[first]].inputs), context);
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, rows / length));
    const std::size_t end = std::min(order.size(), first + most);
    batches.push_back({length,
                       {order.begin() + static_cast<std::ptrdiff_t>(first),
                        order.begin() + static_cast<std::ptrdiff_t>(end)}});
    first = end;
  }
  return batches;
}

std::vector<double> Likelihoods::of(std::span<const LabelledSequence> sequences) {
  std::vector<double> sums(sequences.size());
  for (const LikelihoodBatch& batch : likelihood_batches(sequences, rows_, model_.context()))
    run(batch, sequences, sums);
  return sums;
}

// Grows to the largest batch so far: long sequences come first.
void Likelihoods::reserve(const LikelihoodBatch& batch, Sequences sequences) {
  const MemorySpace space = model_.grid().space();
  const BatchShape shape = model_.shape(std::ssize(batch.sequences), batch.length);
  if (shape.rows > held_) {
    held_ = shape.rows;
    numbers_.emplace(space, static_cast<std::size_t>(2 * held_) * sizeof(std::int32_t));
    losses_.emplace(space, static_cast<std::size_t>(held_) * sizeof(double));
  }
  std::size_t bytes = ForwardSpace::bytes(model_, shape);
  if (model_.stage().has_head()) {  // it sees one sequence at a time
    const std::size_t space_bytes = bytes - model_.stage().scratch_bytes(shape);
    for (const std::size_t index : batch.sequences) {
      const BatchShape one = model_.shape(1, scored_rows(sequences[index]).count);
      bytes = std::max(bytes, space_bytes + model_.stage().head().scratch_bytes(one));
    }
  }
  if (bytes <= workspace_.bytes()) return;
  workspace_ = Buffer();  // the old memory first, so that both are never there together
  workspace_ = Buffer(bytes, space);
}

// Writes tokens, labels and zero losses to the device.
void Likelihoods::fill(const LikelihoodBatch& batch, Sequences sequences) {
  for (const int which : {0, 1}) {
    auto* at = row(numbers_->here(), which).as<std::int32_t>();
    std::fill_n(at, batch.length * std::ssize(batch.sequences), padding);
    for (const std::size_t index : batch.sequences) {
      std::ranges::copy(which == 0 ? sequences[index].inputs : sequences[index].labels, at);
      at += batch.length;
    }
  }
  std::fill_n(static_cast<double*>(losses_->here().data()), batch.sequences.size(), 0.0);
  numbers_->push(model_.stream());
  losses_->push(model_.stream());
}

Context Likelihoods::context(const BatchShape& shape, Arena& scratch) const {
  return {.stream = model_.stream(),
          .tensor = model_.grid().tensor(),
          .shard = model_.stage().place().tensor,
          .shape = shape,
          .scratch = scratch,
          .tokens = row(numbers_->there(), 0).slice(0, 0, shape.rows),
          .labels = row(numbers_->there(), 1).slice(0, 0, shape.rows),
          .training = false,
          .loss_sum = {}};
}

void Likelihoods::run(const LikelihoodBatch& batch, Sequences sequences, std::span<double> sums) {
  reserve(batch, sequences);
  fill(batch, sequences);
  const BatchShape shape = model_.shape(std::ssize(batch.sequences), batch.length);
  Arena arena(workspace_);
  ForwardSpace space(arena, model_, shape);
  const Context ctx = context(shape, arena);
  model_.receive(space.in);
  for (int layer = 0; layer < model_.layers_before_head(); ++layer) {
    model_.stage().layer(0, layer).forward(ctx, model_.wide_layer(layer), space.in, space.out,
                                           space.frame);
    std::swap(space.in, space.out);
  }
  model_.send(space.in);
  classify(batch, sequences, space.in, space, arena);
  model_.grid().drain(model_.stream());  // the host writes the next batch's numbers
  if (!model_.stage().has_head() || model_.grid().tensor_rank() != 0) return;
  losses_->pull(model_.stream());
  const auto* losses = static_cast<const double*>(losses_->here().data());
  for (const std::size_t index : batch.sequences) sums[index] = -*losses++;
}

// Most rows of a multiple-choice task are context: the head, which may be most of a small model's
// work, sees those of each sequence that have a label, and adds their losses to a sum of their own.
void Likelihoods::classify(const LikelihoodBatch& batch, Sequences sequences, const Tensor& x,
                           const ForwardSpace& space, Arena& scratch) const {
  if (!model_.stage().has_head()) return;
  const Tensor sums = losses_->there().tensor(DType::f64, {std::ssize(batch.sequences)});
  for (std::int64_t i = 0; i < std::ssize(batch.sequences); ++i) {
    const RowRange rows = scored_rows(sequences[batch.sequences[static_cast<std::size_t>(i)]]);
    if (rows.count == 0) continue;
    const std::int64_t first = i * batch.length + rows.first;
    Context ctx = context(model_.shape(1, rows.count), scratch);
    ctx.tokens = row(numbers_->there(), 0).slice(0, first, rows.count);
    ctx.labels = row(numbers_->there(), 1).slice(0, first, rows.count);
    ctx.loss_sum = sums.slice(0, i, 1);
    model_.stage().head().forward(ctx, model_.wide_layer(model_.layers_before_head()),
                                  x.slice(0, first, rows.count), {}, space.frame);
  }
}

}  // namespace triax
