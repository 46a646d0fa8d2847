// SPDX-License-Identifier: Apache-2.0
#include "src/model/architecture.hpp"

#include <cmath>

namespace triax {
namespace {

// Tensor names under Hugging Face. Names inside a block follow `block` and the block's number.
struct ArchitectureNames {
  const char *token_embedding, *position_embedding, *final_norm, *head;
  const char* block;
  const char *attention_norm, *mlp_norm, *attention_output, *mlp_output;
};

struct Row {
  ArchitectureTraits traits;
  ArchitectureNames names;
};

constexpr Row gpt2_row = {{.layer_norm = true,
                           .gated_mlp = false,
                           .rotary = false,
                           .fused_qkv = true,
                           .scaled_residual = true,
                           .order = WeightOrder::input_output},
                          {.token_embedding = "transformer.wte.weight",
                           .position_embedding = "transformer.wpe.weight",
                           .final_norm = "transformer.ln_f",
                           .head = "lm_head.weight",
                           .block = "transformer.h.",
                           .attention_norm = "ln_1",
                           .mlp_norm = "ln_2",
                           .attention_output = "attn.c_proj",
                           .mlp_output = "mlp.c_proj"}};

// llama's row serves Qwen2 too: the model says which linear maps have biases.
constexpr Row llama_row = {{.layer_norm = false,
                            .gated_mlp = true,
                            .rotary = true,
                            .fused_qkv = false,
                            .scaled_residual = false,
                            .order = WeightOrder::output_input},
                           {.token_embedding = "model.embed_tokens.weight",
                            .position_embedding = "",
                            .final_norm = "model.norm",
                            .head = "lm_head.weight",
                            .block = "model.layers.",
                            .attention_norm = "input_layernorm",
                            .mlp_norm = "post_attention_layernorm",
                            .attention_output = "self_attn.o_proj",
                            .mlp_output = "mlp.down_proj"}};

const Row& row_of(const ModelConfig& model) {
  return model.architecture == Architecture::gpt2 ? gpt2_row : llama_row;
}

std::string block_name(const ModelConfig& model, int layer, const std::string& part) {
  return row_of(model).names.block + std::to_string(layer) + "." + part;
}

// GPT-2 scales maps that add to the residual stream by 1/sqrt(2 layers) (Radford et al. 2019).
float residual_deviation(const ModelConfig& model) {
  return traits_of(model).scaled_residual
             ? model.initializer_range / std::sqrt(2.0F * static_cast<float>(model.layers))
             : model.initializer_range;
}

// Name of a map's bias; empty if it has none.
std::string bias_name(bool has_bias, const std::string& map) {
  return has_bias ? map + ".bias" : "";
}

// This rank's range of the features between the two maps of an MLP, as part of the map `name`. Any
// tensor size divides any width: ranges may differ by one feature.
LinearPart mlp_part(const ModelConfig& model, const std::string& name, const TensorShard& shard) {
  const std::int64_t width = model.intermediate;
  return {.weight = name + ".weight",
          .bias = bias_name(model.mlp_bias, name),
          .features = width,
          .begin = shard.begin(width),
          .count = shard.count(width),
          .most = shard.most(width)};
}

}  // namespace

const ArchitectureTraits& traits_of(const ModelConfig& model) {
  return row_of(model).traits;
}

ModelNames ModelNames::of(const ModelConfig& model) {
  const ArchitectureNames& names = row_of(model).names;
  return {names.token_embedding, names.position_embedding, names.final_norm, names.head};
}

std::string attention_norm_name(const ModelConfig& model, int layer) {
  return block_name(model, layer, row_of(model).names.attention_norm);
}

std::string mlp_norm_name(const ModelConfig& model, int layer) {
  return block_name(model, layer, row_of(model).names.mlp_norm);
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

Linear qkv_projection(const ModelConfig& model, int layer, const TensorShard& shard) {
  const HeadShard split = head_shard(model, shard);
  const std::int64_t d = model.head_size;
  const std::int64_t query = model.heads * d;
  const std::int64_t key = model.kv_heads * d;
  LinearPart q{"", "", query, split.first_head * d, split.heads * d};
  LinearPart k{"",
               "",
               key,
               split.first_kv * d,
               split.kv_heads * d,
               0,
               split.kv_copies,
               shard.rank % split.kv_copies == 0};
  LinearPart v = k;
  if (traits_of(model).fused_qkv) {
    const std::string name = block_name(model, layer, "attn.c_attn");
    k.offset = query;
    v.offset = query + key;
    for (LinearPart* part : {&q, &k, &v}) {
      part->weight = name + ".weight";
      part->bias = name + ".bias";
      part->features = query + 2 * key;
    }
  } else {
    const auto name_part = [&](LinearPart& part, const char* name) {
      const std::string full = block_name(model, layer, std::string("self_attn.") + name);
      part.weight = full + ".weight";
      part.bias = bias_name(model.qkv_bias, full);
    };
    name_part(q, "q_proj");
    name_part(k, "k_proj");
    name_part(v, "v_proj");
  }
  return Linear::column("attention.qkv", traits_of(model).order, model.hidden, {q, k, v},
                        model.initializer_range);
}

Linear attention_output(const ModelConfig& model, int layer, const TensorShard& shard) {
  const HeadShard split = head_shard(model, shard);
  const std::int64_t d = model.head_size;
  const std::string name = block_name(model, layer, row_of(model).names.attention_output);
  const LinearPart part{name + ".weight", bias_name(model.attention_output_bias, name),
                        model.heads * d, split.first_head * d, split.heads * d};
  return Linear::row("attention.output", traits_of(model).order, part, model.hidden, shard,
                     residual_deviation(model));
}

Linear mlp_input(const ModelConfig& model, int layer, const TensorShard& shard) {
  const auto part = [&](const std::string& name) {
    return mlp_part(model, block_name(model, layer, "mlp." + name), shard);
  };
  std::vector<LinearPart> parts;
  if (traits_of(model).gated_mlp)
    parts = {part("gate_proj"), part("up_proj")};
  else
    parts = {part("c_fc")};
  return Linear::column("mlp.input", traits_of(model).order, model.hidden, parts,
                        model.initializer_range);
}

Linear mlp_output(const ModelConfig& model, int layer, const TensorShard& shard) {
  const LinearPart part =
      mlp_part(model, block_name(model, layer, row_of(model).names.mlp_output), shard);
  return Linear::row("mlp.output", traits_of(model).order, part, model.hidden, shard,
                     residual_deviation(model));
}

}  // namespace triax
