// SPDX-License-Identifier: Apache-2.0
// Rows of Axolotl's keys: the model, adapters, tokens and templates.
#include "src/axolotl/axolotl_keys.hpp"

namespace triax {
namespace {

using enum AxolotlUse;

constexpr const char* config_json = "the model's config.json says it";
constexpr const char* own_kernels = "it chooses a kernel, and triax has its own";
constexpr const char* no_download = "triax downloads nothing and runs no code of a model";
constexpr const char* no_quantization = "training of quantized weights is not built. Leave it out";
constexpr const char* no_lora_variant =
    "this variant of LoRA is not built. Leave it out to train plain LoRA";
constexpr const char* no_new_tokens =
    "triax adds no tokens. Add them to the tokenizer and resize the model first";
constexpr const char* of_tokenizer = "the files of the tokenizer say it";
constexpr const char* no_vision = "models of images or sound are not built. Leave it out";
constexpr const char* one_expert_model = "models of experts are not built. Leave it out";

constexpr AxolotlKey rows[] = {
    // model
    {"base_model", becomes, "model.from"},
    {"base_model_config", refused,
     "the shape comes from the directory of base_model. Put the config.json there, and leave this "
     "out"},
    {"base_model_ignore_patterns", without_effect, no_download},
    {"cls_model_config", refused, "classification is not built. Leave it out"},
    {"model_type", without_effect, config_json},
    {"is_falcon_derived_model", without_effect, config_json},
    {"is_llama_derived_model", without_effect, config_json},
    {"is_mistral_derived_model", without_effect, config_json},
    {"is_qwen_derived_model", without_effect, config_json},
    {"model_config_type", without_effect, config_json},
    {"trust_remote_code", without_effect, no_download},
    {"revision_of_model", refused, "a directory is one revision. Download it, and leave this out"},
    {"overrides_of_model_config", refused, "change the model's config.json instead"},
    {"overrides_of_model_kwargs", refused, "change the model's config.json instead"},
    {"model_config", refused, "change the model's config.json instead"},
    {"type_of_model", without_effect, config_json},
    {"rope_scaling", becomes, "model.rope_scaling"},
    {"reinit_weights", refused, "fresh weights: use a job with model.config instead"},
    {"torch_dtype", without_effect, "bf16 and fp16 say it"},
    {"device", without_effect, "MPI places the ranks"},
    {"device_map", without_effect, "MPI places the ranks"},
    {"max_memory", without_effect, "triax takes the memory that --dry-run shows"},
    {"gpu_memory_limit", without_effect, "triax takes the memory that --dry-run shows"},
    {"low_cpu_mem_usage", without_effect, "ranks read the part of each tensor that they hold"},
    {"experimental_skip_move_to_device", without_effect, "ranks read the part that they hold"},
    {"processor_type", refused, no_vision},
    {"processor_kwargs", refused, no_vision},
    {"image_size", refused, no_vision},
    {"image_resize_algorithm", refused, no_vision},
    {"role_boundaries", refused, no_vision},
    {"freeze_mm_modules", without_effect, "triax trains the text model alone"},
    {"unfrozen_parameters", becomes, "train_only"},
    // quantized bases
    {"load_in_8bit", becomes, "model.quantize int8"},
    {"load_in_4bit", becomes, "model.quantize nf4-double"},
    {"gptq", refused, no_quantization},
    {"gptq_groupsize", refused, no_quantization},
    {"gptq_model_v1", refused, no_quantization},
    {"gptq_disable_exllama", without_effect, own_kernels},
    {"bnb_config_kwargs", becomes, "model.quantize nf4, where it asks for no double quantization"},
    {"model_quantization_config", refused, no_quantization},
    {"model_quantization_config_kwargs", refused, no_quantization},
    {"qat", refused, no_quantization},
    {"quantization", refused, no_quantization},
    {"use_onebitllms", refused, no_quantization},
    {"llmcompressor", refused, no_quantization},
    {"nvfp4_merge_aware", refused, no_quantization},
    {"embeddings_skip_upcast", without_effect, "embeddings keep the model's type"},
    // adapters
    {"adapter", becomes, "section lora; qlora: model.quantize, too"},
    {"lora_model_dir", becomes, "lora.adapter"},
    {"lora_r", becomes, "lora.r"},
    {"lora_alpha", becomes, "lora.lora_alpha"},
    {"lora_dropout", becomes, "lora.lora_dropout"},
    {"lora_target_modules", becomes, "lora.target_modules"},
    {"lora_target_linear", becomes, "lora.target_modules \"all-linear\""},
    {"lora_modules_to_save", becomes, "lora.modules_to_save"},
    {"lora_rank_pattern", becomes, "lora.rank_pattern"},
    {"lora_alpha_pattern", becomes, "lora.alpha_pattern"},
    {"lora_fan_in_fan_out", without_effect, "the architecture says it"},
    {"lora_target_parameters", refused, one_expert_model},
    {"lora_mlp_kernel", without_effect, own_kernels},
    {"lora_qkv_kernel", without_effect, own_kernels},
    {"lora_o_kernel", without_effect, own_kernels},
    {"lora_embedding_kernel", without_effect, own_kernels},
    {"lora_on_cpu", without_effect, "adapters are small, and lie where the model does"},
    {"peft_use_rslora", becomes, "lora.use_rslora"},
    {"peft_use_dora", becomes, "lora.use_dora"},
    {"peft_layers_to_transform", becomes, "lora.layers_to_transform"},
    {"peft_layers_pattern", becomes, "lora.layers_pattern"},
    {"peft_init_lora_weights", becomes, "lora.init_lora_weights"},
    {"peft_layer_replication", refused, no_lora_variant},
    {"peft_trainable_token_indices", refused, no_lora_variant},
    {"peft_ensure_weight_tying", without_effect, "no adapter is on a tied tensor"},
    {"peft_autocast_adapter_dtype", without_effect,
     "adapters have the model's type, and float32 master weights"},
    {"peft", refused, no_lora_variant},
    {"loraplus_lr_ratio", becomes, "optimizer.groups: the learning rate of lora_B"},
    {"loraplus_lr_embedding", without_effect, "no embedding has an adapter"},
    {"qlora_sharded_model_loading", without_effect, "ranks read the part that they hold"},
    {"merge_lora", refused, "merge afterwards: triax adapter merge. Leave it out"},
    {"merge_method", without_effect, "triax adapter merge adds in float32"},
    {"relora", refused, no_lora_variant},
    {"relora_prune_ratio", refused, no_lora_variant},
    {"relora_prune_method", refused, no_lora_variant},
    {"relora_cpu_offload", refused, no_lora_variant},
    {"lisa_n_layers", refused, no_lora_variant},
    {"lisa_step_interval", refused, no_lora_variant},
    {"lisa_layers_attribute", refused, no_lora_variant},
    // tokens
    {"tokenizer_config", becomes, "data.tokenizer"},
    {"tokenizer_type", without_effect, of_tokenizer},
    {"tokenizer_use_fast", without_effect, of_tokenizer},
    {"tokenizer_legacy", without_effect, of_tokenizer},
    {"tokenizer_use_mistral_common", refused,
     "triax reads tokenizer.json. Use a directory that has one"},
    {"tokenizer_save_jinja_files", without_effect, "the template is exported with the weights"},
    {"special_tokens", becomes, "nothing, if the tokenizer has the same tokens; else an error"},
    {"tokens", refused, no_new_tokens},
    {"added_tokens_overrides", refused, no_new_tokens},
    {"resize_token_embeddings_to_32x", without_effect,
     "the vocabulary is padded in memory, and files have its own size"},
    {"mean_resizing_embeddings", refused, no_new_tokens},
    {"shrink_embeddings", refused, no_new_tokens},
    {"fix_untrained_tokens", refused, no_new_tokens},
    {"chat_template", becomes,
     "data.template, a name or a file; tokenizer_default: the tokenizer's own"},
    {"chat_template_jinja", becomes, "data.template"},
    {"chat_template_kwargs", refused,
     "the template's variables stand in each line of the data: \"chat_template_kwargs\": {...}"},
    {"eot_tokens", without_effect,
     "the template says where a turn ends, and its end trains with it: look with triax data show"},
    {"default_system_message", refused, "write it into the template, or into the data"},
    // kernels of attention and loss
    {"attn_implementation", without_effect, own_kernels},
    {"flash_attention", without_effect, own_kernels},
    {"flash_attn_cross_entropy", without_effect, own_kernels},
    {"flash_attn_rms_norm", without_effect, own_kernels},
    {"flash_attn_fuse_mlp", without_effect, own_kernels},
    {"flash_attn_d512", without_effect, own_kernels},
    {"flash_optimum", without_effect, own_kernels},
    {"sdp_attention", without_effect, own_kernels},
    {"sdpa_varlen", without_effect, own_kernels},
    {"xformers_attention", without_effect, own_kernels},
    {"flex_attention", without_effect, own_kernels},
    {"flex_attn_compile_kwargs", without_effect, own_kernels},
    {"eager_attention", without_effect, own_kernels},
    {"sage_attention", refused, "attention in 8 bits is not built. Leave it out"},
    {"s2_attention", refused, "shifted attention is not built. Leave it out"},
    {"large_head_attention", without_effect, own_kernels},
    {"fused_attn_kernel", without_effect, own_kernels},
    {"gemma4_hybrid_attn_impl", without_effect, own_kernels},
    {"scaling_softmax", refused, "it is another attention. Leave it out"},
    {"scaling_softmax_factor", refused, "it is another attention. Leave it out"},
    {"scaling_softmax_bias", refused, "it is another attention. Leave it out"},
    {"use_kernels", without_effect, own_kernels},
    {"cut_cross_entropy", without_effect, own_kernels},
    {"chunked_cross_entropy", without_effect, own_kernels},
    {"chunked_cross_entropy_num_chunks", without_effect, own_kernels},
    {"unsloth_cross_entropy_loss", without_effect, own_kernels},
    {"unsloth_lora_mlp", without_effect, own_kernels},
    {"unsloth_lora_qkv", without_effect, own_kernels},
    {"unsloth_lora_o", without_effect, own_kernels},
    {"liger_rope", without_effect, own_kernels},
    {"liger_rms_norm", without_effect, own_kernels},
    {"liger_rms_norm_gated", without_effect, own_kernels},
    {"liger_layer_norm", without_effect, own_kernels},
    {"liger_glu_activation", without_effect, own_kernels},
    {"liger_fused_linear_cross_entropy", without_effect, own_kernels},
    {"liger_cross_entropy", without_effect, own_kernels},
    {"liger_use_token_scaling", refused, "it is another loss. Leave it out"},
    {"plugins", becomes, "nothing, for plugins of kernels; any other is an error"},
    {"tiled_mlp", without_effect, own_kernels},
    {"tiled_mlp_num_shards", without_effect, own_kernels},
    {"tiled_mlp_use_original_mlp", without_effect, own_kernels},
    // experts
    {"experts_implementation", refused, one_expert_model},
    {"quantize_moe_experts", refused, one_expert_model},
    {"use_scattermoe", refused, one_expert_model},
    {"use_sonicmoe", refused, one_expert_model},
    {"use_dsv4_kernels", refused, one_expert_model},
    {"use_glm_dsa_kernels", refused, one_expert_model},
    {"dsv4_fp4_grouped_mode", refused, one_expert_model},
    {"llama4_linearized_experts", refused, one_expert_model},
    {"expert_parallel_size", refused, one_expert_model, "1"},
    {"expert_parallel_num_nvl_bytes", refused, one_expert_model},
    {"expert_parallel_token_capacity", refused, one_expert_model},
    {"ple_cpu_offload", refused, "embeddings per layer are not built. Leave it out"},
};

constexpr AxolotlKey bnb_rows[] = {
    {"bnb_4bit_use_double_quant", becomes, "model.quantize: true nf4-double, false nf4"},
    {"bnb_4bit_quant_type", becomes, "nothing, for nf4; any other is an error"},
    {"bnb_4bit_compute_dtype", without_effect, "bf16 and fp16 say it"},
    {"bnb_4bit_quant_storage", without_effect, "buckets hold bytes"},
    {"llm_int8_threshold", without_effect, "products are of the decoded weights"},
    {"llm_int8_has_fp16_weight", without_effect, "products are of the decoded weights"},
    {"llm_int8_enable_fp32_cpu_offload", without_effect, "ZeRO-3 and offload_param say it"},
    {"llm_int8_skip_modules", refused,
     "all linear maps of the blocks are quantized, and no other tensor. Leave it out"},
};

}  // namespace

std::span<const AxolotlKey> axolotl_model_keys() {
  return rows;
}

std::span<const AxolotlKey> axolotl_bnb_keys() {
  return bnb_rows;
}

}  // namespace triax
