// SPDX-License-Identifier: Apache-2.0
#pragma once
// Equality of whole Configs, by every member.
#include <tuple>

#include "src/config/config.hpp"

namespace triax::testing_support {

inline auto members(const ModelConfig& m) {
  return std::tie(m.architecture, m.layers, m.heads, m.kv_heads, m.head_size, m.hidden,
                  m.intermediate, m.positions, m.vocabulary, m.norm_epsilon, m.rope_theta,
                  m.rope_scaling, m.tied_embeddings, m.qkv_bias, m.attention_output_bias,
                  m.mlp_bias, m.initializer_range, m.embedding_dropout, m.attention_dropout,
                  m.residual_dropout, m.weights, m.token_ids);
}
inline auto members(const DataConfig& d) {
  return std::tie(d.train, d.valid, d.sequence_length, d.shuffle, d.seed, d.tokenizer);
}
inline auto members(const ParallelConfig& p) {
  return std::tie(p.tensor, p.pipeline, p.data, p.schedule, p.chunks, p.sequence_parallel, p.order,
                  p.tensor_across_nodes);
}
inline auto members(const RunConfig& r) {
  return std::tie(r.steps, r.seed, r.directory, r.eval_interval, r.eval_steps, r.progress,
                  r.peak_flops, r.stop_before_end, r.time_limit);
}
inline auto members(const CheckpointConfig& c) {
  return std::tie(c.directory, c.interval, c.keep, c.resume, c.at_end, c.export_at_end);
}
inline auto members(const BatchConfig& b) {
  return std::tie(b.global, b.micro, b.accumulation);
}
inline auto members(const OptimizerConfig& o) {
  return std::tie(o.learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay,
                  o.stochastic_rounding);
}
inline auto members(const SchedulerConfig& s) {
  return std::tie(s.kind, s.warmup_min_lr, s.warmup_max_lr, s.warmup_num_steps, s.total_num_steps,
                  s.warmup_linear, s.warmup_min_ratio, s.cos_min_ratio, s.cycle_min_lr,
                  s.cycle_max_lr, s.decay_lr_rate, s.cycle_first_step_size,
                  s.cycle_second_step_size, s.decay_step_size, s.cycle_first_stair_count,
                  s.cycle_second_stair_count, s.cycle_momentum, s.cycle_min_mom, s.cycle_max_mom,
                  s.decay_mom_rate, s.warmup, s.min_lr);
}
inline auto members(const ZeroConfig& z) {
  return std::tie(z.stage, z.shard_size, z.overlap, z.limit_gathers, z.reduce_bucket_size,
                  z.prefetch_bucket_size, z.persistence_threshold, z.max_live_parameters);
}
inline auto members(const LossScaleConfig& s) {
  return std::tie(s.enabled, s.fixed, s.initial_power, s.window, s.hysteresis,
                  s.consecutive_hysteresis, s.least);
}
inline auto members(const PrecisionConfig& p) {
  return std::tie(p.type, p.gradient_type);
}
template <class Part>
bool same(const Part& a, const Part& b) {
  return members(a) == members(b);
}
inline bool same(const Config& a, const Config& b) {
  return same(a.model, b.model) && same(a.data, b.data) && same(a.parallel, b.parallel) &&
         same(a.run, b.run) && same(a.checkpoint, b.checkpoint) && same(a.batch, b.batch) &&
         same(a.optimizer, b.optimizer) && same(a.scheduler, b.scheduler) && same(a.zero, b.zero) &&
         same(a.precision, b.precision) && same(a.precision.loss_scale, b.precision.loss_scale) &&
         std::tie(a.gradient_clipping, a.recompute.what, a.recompute.layers,
                  a.recompute.partition_inputs, a.steps_per_print, a.dump_state) ==
             std::tie(b.gradient_clipping, b.recompute.what, b.recompute.layers,
                      b.recompute.partition_inputs, b.steps_per_print, b.dump_state);
}

}  // namespace triax::testing_support
