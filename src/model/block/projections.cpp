// SPDX-License-Identifier: Apache-2.0
#include "src/model/block/projections.hpp"

#include <cmath>
#include <memory>
#include <utility>

#include "src/model/quantized/quantized_linear.hpp"

namespace triax {
namespace {

const BlockSpec& spec_of(const ModelConfig& model) {
  return family_of(model).block;
}

// GPT-2 scales maps that add to the residual stream by 1/sqrt(2 layers) (Radford et al. 2019).
float residual_deviation(const ModelConfig& model) {
  return spec_of(model).scaled_residual
             ? model.initializer_range / std::sqrt(2.0F * static_cast<float>(model.layers))
             : model.initializer_range;
}

// A part of the map `name`, with its tensors' names.
LinearPart part_of(const std::string& name, bool has_bias, std::int64_t features,
                   std::int64_t begin, std::int64_t count) {
  return {name + ".weight", has_bias ? name + ".bias" : "", features, begin, count};
}

// Queries, keys and values of this rank, each a run of one tensor.
std::vector<LinearPart> qkv_parts(const ModelConfig& model, int layer, const HeadShard& split) {
  const BlockSpec& spec = spec_of(model);
  const std::int64_t d = model.head_size;
  const std::int64_t query = model.heads * d, key = model.kv_heads * d;
  const bool fused = spec.qkv == QkvLayout::blocks;
  const auto part = [&](std::size_t index, std::int64_t features, std::int64_t offset,
                        std::int64_t first, std::int64_t heads) {
    const char* const name = spec.names.qkv[fused ? 0 : index];
    LinearPart made = part_of(block_name(model, layer, name), model.qkv_bias,
                              fused ? query + 2 * key : features, first * d, heads * d);
    if (fused) made.offset = offset;
    return made;
  };
  return {part(0, query, 0, split.first_head, split.heads),
          part(1, key, query, split.first_kv, split.kv_heads),
          part(2, key, query + key, split.first_kv, split.kv_heads)};
}

// The same from one tensor with the heads of a group together: its queries, its key, its value.
std::vector<LinearPart> grouped_parts(const ModelConfig& model, int layer, const HeadShard& split) {
  const std::string name = block_name(model, layer, spec_of(model).names.qkv[0]);
  const std::int64_t d = model.head_size;
  const std::int64_t group = model.heads / model.kv_heads;
  const std::int64_t features = (model.heads + 2 * model.kv_heads) * d;
  std::vector<LinearPart> parts;
  const auto add = [&](std::int64_t head) {
    parts.push_back(part_of(name, model.qkv_bias, features, head * d, d));
  };
  for (int h = split.first_head; h < split.first_head + split.heads; ++h)
    add(h / group * (group + 2) + h % group);
  for (const int after : {0, 1})
    for (int h = split.first_kv; h < split.first_kv + split.kv_heads; ++h)
      add(h * (group + 2) + group + after);
  return parts;
}

// This rank's range of the features between the two maps of an MLP, as part of the map `name`. Any
// tensor size divides any width: ranges may differ by one feature.
LinearPart mlp_part(const ModelConfig& model, const std::string& name, const TensorShard& shard) {
  const std::int64_t width = model.intermediate;
  LinearPart part = part_of(name, model.mlp_bias, width, shard.begin(width), shard.count(width));
  part.most = shard.most(width);
  return part;
}

// The map as the model keeps its weights.
std::shared_ptr<const LinearMap> kept(const ModelConfig& model, Linear map) {
  if (!model.kept) return std::make_shared<Linear>(std::move(map));
  return std::make_shared<QuantizedLinear>(map, spec_of(model).order, model.kept);
}

// A map from the residual stream to this rank's features, and one back, with their adapters.
AdaptedLinear column(const ModelConfig& model, const std::string& label,
                     const std::vector<LinearPart>& parts, const TensorShard& shard) {
  Linear map =
      Linear::column(label, spec_of(model).order, model.hidden, parts, model.initializer_range);
  return adapt_column(model.lora, label, kept(model, std::move(map)), parts, shard);
}

AdaptedLinear row(const ModelConfig& model, const std::string& label, const LinearPart& part,
                  const TensorShard& shard) {
  Linear map = Linear::row(label, spec_of(model).order, part, model.hidden, shard,
                           residual_deviation(model));
  return adapt_row(model.lora, label, kept(model, std::move(map)), part, shard);
}

}  // namespace

std::string block_name(const ModelConfig& model, int layer, const char* part) {
  if (*part == '\0') return {};
  return spec_of(model).names.block + std::to_string(layer) + "." + part;
}

HeadShard head_shard(const ModelConfig& model, const TensorShard& shard) {
  const int size = shard.size;
  const bool spread = model.kv_heads % size == 0;
  if (model.heads % size != 0 || (!spread && size % model.kv_heads != 0))
    throw UsageError(
        fmt::format(
            "{} attention heads with {} key/value heads cannot be split over {} tensor ranks",
            model.heads, model.kv_heads, size),
        "the tensor size must divide the heads, and divide or be divided by the key/value heads",
        "Choose another parallel.tensor");
  const int copies = spread ? 1 : size / model.kv_heads;
  const int kv_heads = spread ? model.kv_heads / size : 1;
  const int heads = model.heads / size;
  return {heads, kv_heads, heads * shard.rank, shard.rank / copies * kv_heads, copies};
}

AdaptedLinear qkv_projection(const ModelConfig& model, int layer, const TensorShard& shard) {
  const HeadShard split = head_shard(model, shard);
  const bool grouped = spec_of(model).qkv == QkvLayout::heads;
  std::vector<LinearPart> parts =
      grouped ? grouped_parts(model, layer, split) : qkv_parts(model, layer, split);
  const std::size_t queries = grouped ? static_cast<std::size_t>(split.heads) : 1;
  for (std::size_t i = queries; i < parts.size(); ++i) {
    parts[i].copies = split.kv_copies;
    parts[i].owner = shard.rank % split.kv_copies == 0;
  }
  return column(model, "attention.qkv", parts, shard);
}

AdaptedLinear attention_output(const ModelConfig& model, int layer, const TensorShard& shard) {
  const HeadShard split = head_shard(model, shard);
  const std::int64_t d = model.head_size;
  const LinearPart part =
      part_of(block_name(model, layer, spec_of(model).names.attention_output),
              model.attention_output_bias, model.heads * d, split.first_head * d, split.heads * d);
  return row(model, "attention.output", part, shard);
}

AdaptedLinear mlp_input(const ModelConfig& model, int layer, const TensorShard& shard) {
  const BlockSpec& spec = spec_of(model);
  const bool fused = *spec.names.mlp_input[1] == '\0';
  std::vector<LinearPart> parts;
  for (const std::size_t i : {0U, 1U}) {
    if (i == 1 && !spec.gated()) break;
    const char* const name = spec.names.mlp_input[fused ? 0 : i];
    LinearPart part = mlp_part(model, block_name(model, layer, name), shard);
    if (fused && spec.gated()) {  // gate and up are halves of one tensor
      part.features = 2 * model.intermediate;
      part.offset = static_cast<std::int64_t>(i) * model.intermediate;
    }
    parts.push_back(std::move(part));
  }
  return column(model, "mlp.input", parts, shard);
}

AdaptedLinear mlp_output(const ModelConfig& model, int layer, const TensorShard& shard) {
  const LinearPart part =
      mlp_part(model, block_name(model, layer, spec_of(model).names.mlp_output), shard);
  return row(model, "mlp.output", part, shard);
}

}  // namespace triax
