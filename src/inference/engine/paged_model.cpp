// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/paged_model.hpp"

#include <algorithm>

#include "src/model/block/projections.hpp"

namespace triax {
namespace {

constexpr int activation_tag = 0, logits_tag = 1, hidden_tag = 2;

int transformer_blocks(const GridModel& model) {
  return model.layers_before_head() - (model.stage().has_embedding() ? 1 : 0);
}

VocabularyShard shard_of(const GridModel& model) {
  return vocabulary_shard(model.model().vocabulary, model.stage().place().tensor);
}

// Key heads of this rank: all ranks that share one have it.
std::int64_t kv_heads(const GridModel& model) {
  return head_shard(model.model(), model.stage().place().tensor).kv_heads;
}

Shape cache_shape(const GridModel& model, const EngineOptions& options, std::int64_t blocks) {
  return paged_cache_shape(blocks, kv_heads(model), options.block_tokens, model.model().head_size);
}

std::vector<PagedChunk> chunks_of(const StepBatch& batch) {
  std::vector<PagedChunk> chunks;
  std::int64_t row = 0;
  for (const StepChunk& chunk : batch.chunks) {
    chunks.push_back({row, chunk.rows, chunk.past, batch.tables.data() + chunk.table});
    row += chunk.rows;
  }
  return chunks;
}

Tensor view(const std::vector<std::int32_t>& numbers) {
  return {const_cast<std::int32_t*>(numbers.data()), {std::ssize(numbers)}};
}

}  // namespace

PagedModel::PagedModel(GridModel& model, const EngineOptions& options, std::int64_t blocks,
                       std::int64_t rows)
    : model_(model),
      options_(options),
      blocks_(blocks),
      most_rows_(rows),
      memory_(workspace_bytes(model, rows)),
      cache_(Buffer::unwritten(static_cast<std::size_t>(blocks * block_bytes(model, options)))),
      row_(static_cast<std::size_t>(model.model().vocabulary)) {
  check(model.grid().space() == MemorySpace::host, "a paged KV cache on a GPU");
  if (!model.stage().has_embedding() || model.stage().has_head()) return;
  for (int stage = 0; stage < model.grid().shape().pipeline; ++stage)
    outgoing_.push_back(
        {Buffer(static_cast<std::size_t>(rows * model.model().hidden) * sizeof(float))});
}

std::int64_t PagedModel::block_bytes(const GridModel& model, const EngineOptions& options) {
  return transformer_blocks(model) * cache_shape(model, options, 1).elements() *
         static_cast<std::int64_t>(size_of(options.cache_dtype));
}

BatchShape PagedModel::shape(const GridModel& model, std::int64_t rows) {
  return packed_shape(model.shape(1, rows), model.context());
}

std::size_t PagedModel::workspace_bytes(const GridModel& model, std::int64_t rows) {
  const BatchShape of = shape(model, rows);
  const std::size_t space = measure([&](Arena& arena) { ForwardSpace(arena, model, of); });
  std::size_t scratch = 0;
  for (int layer = 0; layer < model.layers_before_head(); ++layer)
    scratch = std::max(scratch, model.stage().layer(0, layer).scratch_bytes(of));
  const TensorShard& shard = model.stage().place().tensor;
  const std::size_t logits = measure([&](Arena& arena) {
    const std::int64_t hidden = model.model().hidden;
    const auto most = static_cast<std::int64_t>(rows_of_logits);
    arena.take("head rows", DType::f32, {most, hidden});
    arena.take("logits", DType::f32, {shard.size, most, shard_of(model).rows});
    arena.take("normed head rows", DType::f32, {most, hidden});
  });
  // Sums of more than two tensor ranks: see reduce_rows.
  const std::size_t summands = shard.size > 2 ? measure([&](Arena& arena) {
    arena.take("summands", DType::f32, {shard.size, of.rows * model.model().hidden});
  })
                                              : 0;
  return space + std::max(scratch + summands, logits);
}

Tensor PagedModel::layer_cache(int block) const {
  const Shape one = cache_shape(model_, options_, blocks_);
  return cache_
      .tensor(options_.cache_dtype, {transformer_blocks(model_) * one[0], one[1], one[2], one[3]})
      .slice(0, block * one[0], one[0]);
}

WithPackedRows<Context> PagedModel::context(const StepBatch& batch, Arena& scratch) const {
  return {{.stream = model_.stream(),
           .tensor = model_.grid().tensor(),
           .shard = model_.stage().place().tensor,
           .shape = shape(batch.rows()),
           .scratch = scratch,
           .tokens = view(batch.tokens),
           .labels = {},
           .training = false,
           .loss_sum = {}},
          {.positions = view(batch.positions),
           .chunks = {},
           .page_tokens = options_.block_tokens,
           .cache = {}}};
}

void PagedModel::start(const StepBatch& batch) {
  const std::int64_t rows = batch.rows();
  check(rows >= 1 && rows <= most_rows_, "a step of {} rows, {} at most", rows, most_rows_);
  Arena arena(memory_);
  ForwardSpace space(arena, model_, shape(rows));
  WithPackedRows<Context> ctx = context(batch, arena);
  const std::vector<PagedChunk> chunks = chunks_of(batch);
  ctx.packed.chunks = chunks;
  model_.receive(space.in);
  run_layers(ctx, space);
  output_ = space.in;
  pass_on(output_);
}

void PagedModel::pass_on(const Tensor& x) {
  if (outgoing_.empty()) return model_.send(x);
  Outgoing& to = outgoing_[next_outgoing_];
  next_outgoing_ = (next_outgoing_ + 1) % outgoing_.size();
  to.sent.wait(model_.stream());
  const Tensor rows = to.rows.tensor(DType::f32, x.shape());
  std::copy_n(x.as<float>(), x.elements(), rows.as<float>());
  to.sent = model_.grid().pipeline().send(model_.stream(), rows, 1, activation_tag);
}

// Leaves the output of the stage's last layer, the head aside, in space.in.
void PagedModel::run_layers(WithPackedRows<Context>& ctx, ForwardSpace& space) {
  const int first_block = model_.stage().has_embedding() ? 1 : 0;
  for (int layer = 0; layer < model_.layers_before_head(); ++layer) {
    if (layer >= first_block) ctx.packed.cache = layer_cache(layer - first_block);
    model_.stage().layer(0, layer).forward(ctx, model_.layer(layer), space.in, space.out,
                                           space.frame);
    std::swap(space.in, space.out);
  }
}

Tensor PagedModel::take_rows(Arena& scratch, std::span<const std::int32_t> numbers) const {
  const std::int64_t width = model_.model().hidden;
  const Tensor rows = scratch.take("head rows", DType::f32, {std::ssize(numbers), width});
  if (!model_.stage().has_head()) return rows;
  float* to = rows.as<float>();
  for (const std::int32_t number : numbers) {
    std::copy_n(output_.as<float>() + number * width, width, to);
    to += width;
  }
  return rows;
}

void PagedModel::gather_logits(const Context& ctx, const Tensor& rows, const Tensor& all) {
  Communicator& stages = model_.grid().pipeline();
  const int last = stages.size() - 1;
  if (model_.stage().has_head()) {
    const VocabularyShard shard = shard_of(model_);
    const Tensor own = all.slice(0, ctx.shard.rank, 1).reshape({rows.size(0), shard.rows});
    if (shard.columns > 0)
      model_.stage().head().logits(ctx, model_.layer(model_.layers_before_head()), rows, 0,
                                   own.slice(1, 0, shard.columns));
    ctx.tensor.all_gather(ctx.stream, all.flat(), own.flat()).wait(ctx.stream);
  }
  if (last == 0 || ctx.shard.rank != 0) return;
  if (model_.stage().has_head())
    stages.send(ctx.stream, all, 0, logits_tag).wait(ctx.stream);
  else if (model_.stage().has_embedding())
    stages.receive(ctx.stream, all, last, logits_tag).wait(ctx.stream);
}

// Behind the final norm on the last stage, and from there to the first.
void PagedModel::finish_hidden(const Context& ctx, std::span<const std::int32_t> numbers,
                               const OnHidden& on_hidden) {
  if (ctx.shard.rank != 0) return;
  Communicator& stages = model_.grid().pipeline();
  const int last = stages.size() - 1;
  for (std::size_t first = 0; first < numbers.size(); first += rows_of_logits) {
    const ArenaScope scope(ctx.scratch);
    const auto part = numbers.subspan(first, std::min(rows_of_logits, numbers.size() - first));
    const Tensor rows = take_rows(ctx.scratch, part);
    const Tensor hidden = ctx.scratch.take("normed head rows", DType::f32, rows.shape());
    if (model_.stage().has_head())
      model_.stage().head().hidden(ctx, model_.layer(model_.layers_before_head()), rows, hidden);
    if (last > 0 && model_.stage().has_head())
      stages.send(ctx.stream, hidden, 0, hidden_tag).wait(ctx.stream);
    if (!model_.stage().has_embedding()) continue;
    if (last > 0) stages.receive(ctx.stream, hidden, last, hidden_tag).wait(ctx.stream);
    const auto width = static_cast<std::size_t>(hidden.size(1));
    for (std::size_t i = 0; i < part.size(); ++i)
      on_hidden(first + i, std::span(hidden.as<float>() + i * width, width));
  }
}

void PagedModel::finish(const StepBatch& batch, const OnLogits& on_logits,
                        const OnHidden& on_hidden) {
  const bool hands_out = model_.stage().has_embedding() && model_.grid().tensor_rank() == 0;
  if (!hands_out && !model_.stage().has_head()) return;
  Arena arena(memory_);
  // On one stage the memory holds the rows still.
  if (model_.stage().has_head()) ForwardSpace(arena, model_, shape(batch.rows()));
  const WithPackedRows<Context> ctx = context(batch, arena);
  const std::int64_t of_rank = shard_of(model_).rows;
  const std::span<const std::int32_t> numbers(batch.logit_rows);
  for (std::size_t first = 0; first < numbers.size(); first += rows_of_logits) {
    const ArenaScope scope(arena);
    const auto part = numbers.subspan(first, std::min(rows_of_logits, numbers.size() - first));
    const std::int64_t n = std::ssize(part);
    const Tensor rows = take_rows(arena, part);
    const Tensor all = arena.take("logits", DType::f32, {ctx.shard.size, n, of_rank});
    gather_logits(ctx, rows, all);
    if (!hands_out) continue;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t v = 0; v < std::ssize(row_); v += of_rank)
        std::copy_n(all.as<float>() + (v / of_rank * n + i) * of_rank,
                    std::min(of_rank, std::ssize(row_) - v), row_.begin() + v);
      on_logits(first + static_cast<std::size_t>(i), row_);
    }
  }
  finish_hidden(ctx, batch.hidden_rows, on_hidden);
}

}  // namespace triax
