// SPDX-License-Identifier: Apache-2.0
#pragma once
// Equality of whole Configs, by every member but OptimizerConfig::rate_given: a resolved job gives
// every rate.
#include <tuple>

#include "src/config/config.hpp"

namespace triax::testing_support {

inline auto members(const ModelConfig& m) {
  return std::tie(m.architecture, m.layers, m.heads, m.kv_heads, m.head_size, m.hidden,
                  m.intermediate, m.positions, m.vocabulary, m.norm_epsilon, m.rope_theta,
                  m.rope_scaling, m.local_rope_theta, m.rotary_size, m.rotary, m.window, m.windowed,
                  m.embedding_scale, m.residual_scale, m.logit_divisor, m.attention_scale,
                  m.attention_soft_cap, m.logit_soft_cap, m.parallel_residual, m.exact_gelu,
                  m.tied_embeddings, m.qkv_bias, m.attention_output_bias, m.mlp_bias,
                  m.initializer_range, m.embedding_dropout, m.attention_dropout, m.residual_dropout,
                  m.weights, m.token_ids, m.trainability, m.lora);
}
inline auto members(const DataConfig& d) {
  return std::tie(d.train, d.sources, d.valid, d.sequence_length, d.shuffle, d.seed, d.tokenizer);
}
inline auto members(const ParallelConfig& p) {
  return std::tie(p.tensor, p.pipeline, p.data, p.schedule, p.chunks, p.sequence_parallel, p.order,
                  p.tensor_across_nodes);
}
inline auto members(const RunConfig& r) {
  return std::tie(r.steps, r.seed, r.directory, r.eval_interval, r.eval_steps, r.progress,
                  r.peak_flops, r.stop_before_end, r.time_limit, r.collective_timeout,
                  r.max_bad_steps, r.loss_spike.factor, r.loss_spike.window, r.loss_spike.action,
                  r.loss_spike.max_rollbacks, r.space);
}
inline auto members(const CheckpointConfig& c) {
  return std::tie(c.directory, c.interval, c.keep, c.resume, c.at_end, c.export_at_end, c.files,
                  c.striping_factor, c.striping_unit, c.alignment, c.async, c.collective);
}
inline auto members(const BatchConfig& b) {
  return std::tie(b.global, b.micro, b.accumulation);
}
inline auto members(const OptimizerConfig& o) {
  return std::tie(o.type, o.learning_rate, o.beta1, o.beta2, o.weight_decay, o.numbers, o.groups,
                  o.clip_value, o.stochastic_rounding);
}
inline auto members(const SchedulerConfig& s) {
  return std::tie(s.type, s.numbers, s.words);
}
inline auto members(const ZeroConfig& z) {
  return std::tie(z.stage, z.shard_size, z.shard_by_hpz, z.overlap, z.limit_gathers,
                  z.reduce_bucket_size, z.allgather_bucket_size, z.prefetch_bucket_size,
                  z.persistence_threshold, z.max_live_parameters);
}
inline auto members(const OffloadOptimizerConfig& o) {
  return std::tie(o.device, o.nvme_path, o.buffers, o.pipeline_read, o.pipeline_write, o.ratio,
                  o.part);
}
inline auto members(const OffloadParamConfig& o) {
  return std::tie(o.device, o.nvme_path, o.buffers, o.buffer_size, o.max_in_cpu, o.ratio,
                  o.pipeline_read, o.pipeline_write);
}
inline auto members(const AioConfig& a) {
  return std::tie(a.block_size, a.queue_depth);
}
inline auto members(const LossScaleConfig& s) {
  return std::tie(s.enabled, s.fixed, s.initial_power, s.window, s.hysteresis,
                  s.consecutive_hysteresis, s.least, s.steps);
}
inline auto members(const PrecisionConfig& p) {
  return std::tie(p.type, p.gradient_type, p.fp8);
}
inline auto members(const LossConfig& l) {
  return std::tie(l.type, l.beta, l.label_smoothing, l.simpo_gamma, l.chosen_weight,
                  l.z_coefficient);
}
inline auto members(const RecomputeConfig& r) {
  return std::tie(r.what, r.layers, r.keep_outputs, r.partition_inputs, r.inputs_on_host);
}
template <class Part>
bool same(const Part& a, const Part& b) {
  return members(a) == members(b);
}
inline bool same(const Config& a, const Config& b) {
  return same(a.model, b.model) && same(a.data, b.data) && same(a.parallel, b.parallel) &&
         same(a.run, b.run) && same(a.checkpoint, b.checkpoint) && same(a.batch, b.batch) &&
         same(a.optimizer, b.optimizer) && same(a.scheduler, b.scheduler) && same(a.zero, b.zero) &&
         same(a.zero.offload_optimizer, b.zero.offload_optimizer) &&
         same(a.zero.offload_param, b.zero.offload_param) && same(a.aio, b.aio) &&
         same(a.recompute, b.recompute) && same(a.precision, b.precision) &&
         same(a.precision.loss_scale, b.precision.loss_scale) && same(a.loss, b.loss) &&
         std::tie(a.gradient_clipping, a.steps_per_print, a.dump_state) ==
             std::tie(b.gradient_clipping, b.steps_per_print, b.dump_state);
}

}  // namespace triax::testing_support
