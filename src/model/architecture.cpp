#include "src/model/architecture.hpp"

#include <cmath>

namespace triax {
namespace {

bool is_gpt2(const ModelConfig& model) {
  return model.architecture == Architecture::gpt2;
}

std::string block_name(const ModelConfig& model, int layer, const std::string& part) {
  const char* prefix = is_gpt2(model) ? "transformer.h." : "model.layers.";
  return prefix + std::to_string(layer) + "." + part;
}

WeightOrder order_of(const ModelConfig& model) {
  return is_gpt2(model) ? WeightOrder::input_output : WeightOrder::output_input;
}

// GPT-2 scales what is added to the residual stream by 1/sqrt(2 layers) (Radford et al. 2019).
float residual_deviation(const ModelConfig& model) {
  return is_gpt2(model)
             ? model.initializer_range / std::sqrt(2.0F * static_cast<float>(model.layers))
             : model.initializer_range;
}

}  // namespace

ModelNames ModelNames::of(const ModelConfig& model) {
  if (is_gpt2(model))
    return {"transformer.wte.weight", "transformer.wpe.weight", "transformer.ln_f",
            "lm_head.weight"};
  return {"model.embed_tokens.weight", "", "model.norm", "lm_head.weight"};
}

std::string attention_norm_name(const ModelConfig& model, int layer) {
  return block_name(model, layer, is_gpt2(model) ? "ln_1" : "input_layernorm");
}

std::string mlp_norm_name(const ModelConfig& model, int layer) {
  return block_name(model, layer, is_gpt2(model) ? "ln_2" : "post_attention_layernorm");
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
  if (is_gpt2(model)) {  // one tensor of q, k and v
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
      part.weight = block_name(model, layer, std::string("self_attn.") + name + ".weight");
      if (model.qkv_bias)
        part.bias = block_name(model, layer, std::string("self_attn.") + name + ".bias");
    };
    name_part(q, "q_proj");
    name_part(k, "k_proj");
    name_part(v, "v_proj");
  }
  return Linear::column("attention.qkv", order_of(model), model.hidden, {q, k, v},
                        model.initializer_range);
}

Linear attention_output(const ModelConfig& model, int layer, const TensorShard& shard) {
  const HeadShard split = head_shard(model, shard);
  const std::int64_t d = model.head_size;
  const std::string name =
      block_name(model, layer, is_gpt2(model) ? "attn.c_proj" : "self_attn.o_proj");
  const LinearPart part{name + ".weight", is_gpt2(model) ? name + ".bias" : "", model.heads * d,
                        split.first_head * d, split.heads * d};
  return Linear::row("attention.output", order_of(model), part, model.hidden, shard,
                     residual_deviation(model));
}

Linear mlp_input(const ModelConfig& model, int layer, const TensorShard& shard) {
  const std::int64_t width = model.intermediate;
  const auto part = [&](const std::string& name, bool bias) {
    const std::string full = block_name(model, layer, "mlp." + name);
    return LinearPart{full + ".weight", bias ? full + ".bias" : "", width, shard.begin(width),
                      shard.count(width)};
  };
  std::vector<LinearPart> parts;
  if (is_gpt2(model))
    parts = {part("c_fc", true)};
  else
    parts = {part("gate_proj", false), part("up_proj", false)};
  return Linear::column("mlp.input", order_of(model), model.hidden, parts, model.initializer_range);
}

Linear mlp_output(const ModelConfig& model, int layer, const TensorShard& shard) {
  const std::int64_t width = model.intermediate;
  const std::string name =
      block_name(model, layer, is_gpt2(model) ? "mlp.c_proj" : "mlp.down_proj");
  const LinearPart part{name + ".weight", is_gpt2(model) ? name + ".bias" : "", width,
                        shard.begin(width), shard.count(width)};
  return Linear::row("mlp.output", order_of(model), part, model.hidden, shard,
                     residual_deviation(model));
}

}  // namespace triax
