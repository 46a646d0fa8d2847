// SPDX-License-Identifier: Apache-2.0
#include "src/inference/generate.hpp"

#include <algorithm>

#include "src/checkpoint/adapter_base.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "src/config/rope_kinds.hpp"

namespace triax {
namespace {

BatchShape text_shape(const GridModel& model, std::int64_t length, std::int64_t past) {
  BatchShape shape = model.shape(1, length);
  shape.past = past;
  return shape;
}

// Bytes that suffice for any text of up to `context` tokens, and for one token after context - 1
// cached ones.
std::size_t memory_bytes(const GridModel& model) {
  return std::max(ForwardSpace::bytes(model, text_shape(model, model.context(), 0)),
                  ForwardSpace::bytes(model, text_shape(model, 1, model.context() - 1)));
}

// Transformer blocks of the stage.
std::int64_t blocks(const GridModel& model) {
  return model.layers_before_head() - (model.stage().has_embedding() ? 1 : 0);
}

VocabularyShard shard_of(const GridModel& model) {
  return vocabulary_shard(model.model().vocabulary, model.stage().place().tensor);
}

// Logits of all tensor ranks in their order, with the padding of the vocabulary: those of the
// vocabulary are the first.
std::int64_t padded_vocabulary(const GridModel& model) {
  return model.stage().place().tensor.size * shard_of(model).rows;
}

// Shape of the KV cache of all blocks of the stage (see Context::cache): (blocks x context, 2 x
// kv_heads x head_size). On a tensor rank it is more than its share of the heads needs.
Shape cache_shape(const GridModel& model) {
  const ModelConfig& config = model.model();
  return {blocks(model) * model.context(), 2 * std::int64_t{config.kv_heads} * config.head_size};
}

}  // namespace

struct Generator::OwnModel {
  ProcessGrid grid;
  GridModel model;
  OwnModel(const CheckpointReader& checkpoint, const ModelConfig& config, std::int64_t context,
           std::optional<MemorySpace> space, SavedWeights weights)
      : grid(MPI_COMM_SELF, {}, {}, 0.0, space),
        model(config, grid, std::min<std::int64_t>(context, longest_sequence(config)),
              [&](const Stream& stream, const ModelConfig& of, ParameterStore& store) {
                if (weights == SavedWeights::average) require_average(checkpoint);
                check_same_model(checkpoint, of, MPI_COMM_NULL);
                restore_model(stream, checkpoint, of, store, MPI_COMM_NULL, weights);
              }) {}
};

Generator::Generator(const CheckpointReader& checkpoint, std::int64_t context,
                     std::optional<MemorySpace> space, SavedWeights weights)
    : Generator(std::make_unique<OwnModel>(checkpoint, model_of(checkpoint.header()), context,
                                           space, weights)) {}

Generator::Generator(std::unique_ptr<OwnModel> own) : Generator(own->model) {
  own_ = std::move(own);
}

Generator::Generator(GridModel& model)
    : model_(model),
      memory_(memory_bytes(model_), model_.grid().space()),
      cache_(static_cast<std::size_t>(cache_shape(model_).elements()) * sizeof(float),
             model_.grid().space()),
      input_(model_.grid().space(), static_cast<std::size_t>(context()) * sizeof(std::int32_t)),
      output_(model_.grid().space(),
              static_cast<std::size_t>(padded_vocabulary(model_)) * sizeof(float)),
      logits_(static_cast<std::size_t>(this->model().vocabulary)) {}

Generator::~Generator() = default;

const std::vector<float>& Generator::logits(const std::vector<std::int32_t>& tokens) {
  check(!tokens.empty() && std::ssize(tokens) <= context(), "{} tokens in a context of {}",
        tokens.size(), context());
  text_ = tokens;
  return logits_of_text(0);
}

const std::vector<float>& Generator::logits_after(std::int32_t token) {
  check(!text_.empty(), "a token that follows none");
  text_.push_back(token);
  if (std::ssize(text_) <= context()) return logits_of_text(std::ssize(text_) - 1);
  text_.erase(text_.begin());
  return logits_of_text(0);
}

const std::vector<float>& Generator::logits_of_text(std::int64_t past) {
  const std::int64_t length = std::ssize(text_) - past;
  const Stream& stream = model_.stream();
  std::copy(text_.begin() + past, text_.end(), static_cast<std::int32_t*>(input_.here().data()));
  input_.push(stream);
  Arena arena(memory_);
  const BatchShape shape = text_shape(model_, length, past);
  ForwardSpace space(arena, model_, shape);
  Context ctx{.stream = stream,
              .tensor = model_.grid().tensor(),
              .shard = model_.stage().place().tensor,
              .shape = shape,
              .scratch = arena,
              .tokens = input_.there().tensor(DType::i32, {length}),
              .labels = {},
              .training = false,
              .loss_sum = {}};
  model_.receive(space.in);
  run_layers(ctx, space);
  model_.send(space.in);
  share_logits(ctx, space.in);
  output_.pull(stream);
  std::copy_n(static_cast<const float*>(output_.here().data()), logits_.size(), logits_.begin());
  return logits_;
}

// Leaves the output of the stage's last layer, the head aside, in space.in.
void Generator::run_layers(Context& ctx, ForwardSpace& space) {
  const Tensor caches = cache_.tensor(DType::f32, cache_shape(model_));
  const int first_block = model_.stage().has_embedding() ? 1 : 0;
  for (int layer = 0; layer < model_.layers_before_head(); ++layer) {
    if (layer >= first_block)
      ctx.cache = caches.slice(0, (layer - first_block) * context(), context());
    model_.stage().layer(0, layer).forward(ctx, model_.wide_layer(layer), space.in, space.out,
                                           space.frame);
    std::swap(space.in, space.out);
  }
}

// Leaves the logits after the last row of x, the head's input, on every rank.
void Generator::share_logits(const Context& ctx, const Tensor& x) {
  const Tensor all = output_.there().tensor(DType::f32, {padded_vocabulary(model_)});
  if (model_.stage().has_head()) {
    const VocabularyShard shard = shard_of(model_);
    const Tensor own = all.slice(0, shard.first, shard.rows);
    if (shard.columns > 0)
      model_.stage().head().logits(ctx, model_.wide_layer(model_.layers_before_head()), x,
                                   ctx.shape.sequence - 1, own.slice(0, 0, shard.columns));
    model_.grid().tensor().all_gather(ctx.stream, all, own).wait(ctx.stream);
  }
  Communicator& stages = model_.grid().pipeline();
  stages.broadcast(ctx.stream, all, stages.size() - 1).wait(ctx.stream);
}

}  // namespace triax
