// SPDX-License-Identifier: Apache-2.0
// Rows of ds_config.json's sections that change the training: known, refused when enabled.
#include "src/config/keys/key_table.hpp"

namespace triax {
namespace {
using enum KeyType;
using Keys = std::vector<Key>;
using Names = std::initializer_list<const char*>;

// "<section>.enabled" is refused; the section's other keys have no effect without it.
void add_feature(Keys& k, const std::string& section, const std::string& meaning, Names others) {
  k.push_back(refused(section + ".enabled", boolean, false, meaning,
                      "not built: it would change the training"));
  for (const auto* name : others)
    k.push_back(accepted(section + "." + name, any, nullptr,
                         "unused while " + section + ".enabled is false"));
}

void add_data_efficiency(Keys& k) {
  const std::string d = "data_efficiency";
  add_feature(k, d, "curricula and token dropping", {"seed"});
  add_feature(k, d + ".data_sampling", "curriculum sampling",
              {"num_epochs", "num_workers", "pin_memory"});
  add_feature(k, d + ".data_sampling.curriculum_learning", "curriculum sampling",
              {"data_cluster_path", "curriculum_metrics"});
  add_feature(k, d + ".data_sampling.dynamic_batching", "batches by token count",
              {"metrics_path", "lr_scaling_method", "min_batch_size", "max_batch_size",
               "sequence_picking_order", "max_tokens", "verbose"});
  add_feature(k, d + ".data_routing", "token dropping", {});
  add_feature(k, d + ".data_routing.random_ltd", "random layerwise token dropping",
              {"total_layer_num", "random_ltd_layer_num", "random_ltd_layer_id", "model_mask_name",
               "model_type", "hidden_state_order", "random_ltd_schedule", "layer_token_lr_schedule",
               "micro_batch_size", "global_batch_size", "sample_idx", "attention_mask"});
  add_feature(
      k, "curriculum_learning", "sequences that grow during training",
      {"curriculum_type", "min_difficulty", "max_difficulty", "schedule_type", "schedule_config",
       "total_curriculum_step", "difficulty_step", "root_degree", "difficulty", "max_step"});
}

void add_compression(Keys& k) {
  const std::string c = "compression_training.";
  add_feature(k, c + "layer_reduction", "fewer layers",
              {"keep_number_layer", "module_name_prefix", "teacher_layer", "other_module_name"});
  for (const auto* technique : {"weight_quantization", "activation_quantization", "sparse_pruning",
                                "row_pruning", "head_pruning", "channel_pruning"}) {
    const auto section = c + technique;
    add_feature(
        k, section + ".shared_parameters", "compression while training",
        {"quantizer_kernel", "schedule_offset", "schedule_offset_end", "schedule_offset_stride",
         "quantize_groups", "quantize_verbose", "quantization_type", "rounding",
         "quantize_weight_in_forward", "fp16_mixed_quantize", "range_calibration", "method",
         "block_pattern", "dense_ratio", "excluded_modules", "num_heads"});
    k.push_back(accepted(section + ".different_groups", object, nullptr,
                         "unused while shared_parameters.enabled is false"));
  }
  k.push_back(refused("weight_quantization", object, nlohmann::json::object(),
                      "quantized weights at the start", "not built: it would change the training"));
  add_feature(k, "quantize_training", "quantization while training (MoQ)",
              {"quantize_verbose", "quantizer_kernel", "quantize_type", "quantize_bits",
               "quantize_schedule", "quantize_groups", "quantize_algo", "fp16_mixed_quantize",
               "eigenvalue", "quantize_rounding", "quantize_change_ratio"});
}

}  // namespace

Keys technique_keys() {
  Keys k;
  add_data_efficiency(k);
  add_compression(k);
  add_feature(k, "eigenvalue", "curvature of each layer",
              {"verbose", "max_iter", "tol", "stability", "gas_boundary_resolution", "layer_name",
               "layer_num"});
  add_feature(k, "progressive_layer_drop", "layers dropped during training", {"theta", "gamma"});
  k.push_back(refused("sparse_attention", object, nullptr,
                      "attention in block patterns (mode, block, num_local_blocks, ...)",
                      "not built: it would change the training"));
  return k;
}

}  // namespace triax
