// SPDX-License-Identifier: Apache-2.0
#include "src/inference/generate.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "kernels/random/random.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/checkpoint/resume_changes.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/config/rope_kinds.hpp"

namespace triax {
namespace {

// Memory of a forward pass: the residual stream before and after a layer (T, C), and one frame.
// Scratch follows in the arena.
struct Workspace {
  Tensor in, out, frame;
  Workspace(Arena& arena, const Stage& stage, const BatchShape& shape, std::int64_t width)
      : in(arena.take("input", DType::f32, {shape.local_rows, width})),
        out(arena.take("output", DType::f32, {shape.local_rows, width})) {
    std::size_t bytes = 0;
    for (int layer = 0; layer < stage.layers(0); ++layer)
      bytes = std::max(bytes, stage.layer(0, layer).frame_bytes(shape));
    frame = arena.take("frame", DType::u8, {static_cast<std::int64_t>(bytes)});
  }
};

// Shape of `length` tokens of one text after `past` cached tokens.
BatchShape text_shape(std::int64_t length, std::int64_t past, MemorySpace space) {
  BatchShape shape = batch_shape(1, length, {}, DType::f32, DType::f32, space);
  shape.past = past;
  return shape;
}

std::size_t memory_bytes(const Stage& stage, const BatchShape& shape, std::int64_t width) {
  const std::size_t head = measure([&](Arena& arena) {
    arena.take("head", DType::f32, {1, width});
  });
  return measure([&](Arena& arena) { Workspace(arena, stage, shape, width); }) +
         std::max(stage.scratch_bytes(shape), head);
}

// Bytes that suffice for any text of up to `context` tokens, and for one token after context - 1
// cached ones.
std::size_t memory_bytes(const Stage& stage, std::int64_t context, std::int64_t width,
                         MemorySpace space) {
  return std::max(memory_bytes(stage, text_shape(context, 0, space), width),
                  memory_bytes(stage, text_shape(1, context - 1, space), width));
}

// Shape of the KV cache of all blocks for `context` tokens (see Context::cache): (blocks x context,
// 2 x kv_heads x head_size).
Shape cache_shape(const ModelConfig& model, std::int64_t context) {
  return {model.layers * context, 2 * std::int64_t{model.kv_heads} * model.head_size};
}

}  // namespace

std::int32_t choose_token(const std::vector<float>& logits, const SamplingOptions& options,
                          double uniform) {
  const auto larger = [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)];
    const float y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  const std::size_t all = options.tokens > 0
                              ? std::min(static_cast<std::size_t>(options.tokens), logits.size())
                              : logits.size();
  std::vector<std::int32_t> order(all);
  std::iota(order.begin(), order.end(), 0);
  if (options.temperature <= 0.0 || options.top_k == 1)
    return *std::min_element(order.begin(), order.end(), larger);
  const auto kept =
      options.top_k > 0 ? std::min(static_cast<std::size_t>(options.top_k), all) : all;
  if (kept < all) {
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                      larger);
    order.resize(kept);
  }
  const double largest =
      logits[static_cast<std::size_t>(*std::min_element(order.begin(), order.end(), larger))];
  std::vector<double> cumulative;
  double total = 0.0;
  for (const std::int32_t token : order)
    cumulative.push_back(total += std::exp((logits[static_cast<std::size_t>(token)] - largest) /
                                           options.temperature));
  const auto at = std::upper_bound(cumulative.begin(), cumulative.end(), uniform * total);
  return order[std::min(static_cast<std::size_t>(at - cumulative.begin()), kept - 1)];
}

std::int64_t trained_length(const CheckpointHeader& header) {
  const ModelConfig model = model_from_huggingface(header.model, "the checkpoint's model");
  // Rotary positions that stretch themselves serve lengths that were never trained.
  if (longest_sequence(model) > model.positions) return longest_sequence(model);
  // Weights of model.from may have been trained on longer sequences than this job's.
  const nlohmann::json job = nlohmann::json::parse(header.job, nullptr, false);
  const nlohmann::json::json_pointer from("/model/from");
  const bool elsewhere = job.contains(from) && !job[from].is_null();
  const auto length = elsewhere ? std::nullopt : saved_integer(header.job, "data.seq_length");
  if (length && *length >= 1) return *length;
  return model.positions;
}

Generator::Generator(const CheckpointReader& checkpoint, std::int64_t context,
                     std::optional<MemorySpace> space)
    : model_(model_from_huggingface(checkpoint.header().model, "the checkpoint's model")),
      context_(std::min<std::int64_t>(context, longest_sequence(model_))),
      grid_(MPI_COMM_SELF, {}, {}, 0.0, space),
      stream_(grid_.space()),
      stage_(model_, {}, context_, {}, StageUse::run, grid_.space()),
      store_(stage_, grid_, {.space = grid_.space()}),
      memory_(memory_bytes(stage_, context_, model_.hidden, grid_.space()), grid_.space()),
      cache_(static_cast<std::size_t>(cache_shape(model_, context_).elements()) * sizeof(float),
             grid_.space()),
      input_(grid_.space(), static_cast<std::size_t>(context_) * sizeof(std::int32_t)),
      output_(grid_.space(), static_cast<std::size_t>(model_.vocabulary) * sizeof(float)),
      logits_(static_cast<std::size_t>(model_.vocabulary)) {
  check_same_model(checkpoint, model_, MPI_COMM_NULL);
  restore_checkpoint(stream_, checkpoint, model_, store_, nullptr, MPI_COMM_NULL);
}

Generator::~Generator() = default;

const std::vector<float>& Generator::logits(const std::vector<std::int32_t>& tokens) {
  check(!tokens.empty() && std::ssize(tokens) <= context_, "{} tokens in a context of {}",
        tokens.size(), context_);
  text_ = tokens;
  return logits_of_text(0);
}

const std::vector<float>& Generator::logits_after(std::int32_t token) {
  check(!text_.empty(), "a token that follows none");
  text_.push_back(token);
  if (std::ssize(text_) <= context_) return logits_of_text(std::ssize(text_) - 1);
  text_.erase(text_.begin());
  return logits_of_text(0);
}

const std::vector<float>& Generator::logits_of_text(std::int64_t past) {
  const std::int64_t length = std::ssize(text_) - past;
  std::copy(text_.begin() + past, text_.end(), static_cast<std::int32_t*>(input_.here().data()));
  input_.push(stream_);
  Arena arena(memory_);
  const BatchShape shape = text_shape(length, past, grid_.space());
  Workspace space(arena, stage_, shape, model_.hidden);
  Context ctx{.stream = stream_,
              .tensor = grid_.tensor(),
              .shard = stage_.place().tensor,
              .shape = shape,
              .scratch = arena,
              .tokens = input_.there().tensor(DType::i32, {length}),
              .labels = {},
              .training = false,
              .loss_sum = {}};
  const Tensor caches = cache_.tensor(DType::f32, cache_shape(model_, context_));
  const int head = stage_.layers(0) - 1;
  for (int layer = 0; layer < head; ++layer) {
    if (layer > 0) ctx.cache = caches.slice(0, (layer - 1) * context_, context_);
    stage_.layer(0, layer).forward(ctx, store_.layer(0, layer, 0), space.in, space.out,
                                   space.frame);
    std::swap(space.in, space.out);
  }
  stage_.head().logits(ctx, store_.layer(0, head, 0), space.in, length - 1,
                       output_.there().tensor(DType::f32, {model_.vocabulary}));
  output_.pull(stream_);
  std::copy_n(static_cast<const float*>(output_.here().data()), logits_.size(), logits_.begin());
  return logits_;
}

void Generator::generate(std::vector<std::int32_t> tokens, const SamplingOptions& options,
                         const std::function<bool(std::int32_t)>& emit) {
  const std::uint64_t key = mix_key(options.seed, "generate");
  if (std::ssize(tokens) > context_) tokens.erase(tokens.begin(), tokens.end() - context_);
  std::int32_t next = 0;
  for (std::int64_t i = 0; i < options.max_tokens; ++i) {
    const std::vector<float>& found = i == 0 ? logits(tokens) : logits_after(next);
    if (!std::ranges::all_of(found, [](float logit) { return std::isfinite(logit); }))
      throw Error(fmt::format("logits of token {} are not finite", i),
                  "the weights of the checkpoint are not finite, or too large",
                  "Use an earlier checkpoint");
    const auto words = philox(key, static_cast<std::uint64_t>(i));
    next = choose_token(found, options, static_cast<double>(words[0]) * 0x1p-32);
    if (!emit(next)) return;
  }
}

}  // namespace triax
