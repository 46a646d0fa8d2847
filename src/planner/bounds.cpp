// SPDX-License-Identifier: Apache-2.0
#include "src/planner/bounds.hpp"

#include <algorithm>

#include "src/plan/step_plan.hpp"
#include "src/price/layer_times.hpp"
#include "src/price/message_times.hpp"

namespace triax {
namespace {

double elements_of(const Layer& layer) {
  double elements = 0.0;
  for (const ParameterSpec& spec : layer.params())
    elements += static_cast<double>(spec.shape.elements());
  return elements;
}

// The job with one block, on one stage of `tensor` ranks.
PlacedConfig one_block(const Config& job, const Candidate& candidate, MemorySpace space) {
  PlacedConfig probe{job, {}};
  probe.model.layers = 1;
  probe.parallel.tensor = candidate.tensor;
  probe.parallel.pipeline = probe.parallel.data = probe.parallel.chunks = 1;
  probe.batch.micro = candidate.micro;
  probe.recompute.what = candidate.recompute;
  probe.recompute.layers = 0;
  probe.place.space = space;
  return probe;
}

// Most micro-batches' frames that the first stage holds, in blocks of one micro-batch per stage.
double held_microbatches(const Candidate& candidate) {
  const double p = candidate.pipeline, v = candidate.chunks;
  const auto m = static_cast<double>(candidate.accumulation);
  if (candidate.chunks == 1) return std::min(p, m);
  return std::min(2.0 * (p - 1.0) + (v - 1.0) * p + 1.0, m * v) / v;
}

}  // namespace

Bounds::Share Bounds::make_share(const Candidate& candidate) const {
  const PlacedConfig probe = one_block(job_, candidate, machine_.space);
  const Stage stage = make_stage(probe, 0, 0, StageUse::plan);
  const TensorShard& shard = stage.place().tensor;
  const BatchShape shape = batch_shape(probe, shard);
  const ProductTypes types{job_.precision.type, job_.precision.fp8};
  const SharingGroups::Group group{candidate.tensor, candidate.tensor};
  Share share;
  for (int block = 0; block < job_.model.layers; ++block) {
    const LayerTimes times =
        layer_times(block_work(job_.model, block, shard, shape), types, machine_);
    share.forward += times.forward / job_.model.layers;
    share.backward += times.backward / job_.model.layers;
    share.attention += times.attention / job_.model.layers;
  }
  const LayerMessages sent = stage.layer(0, 1).messages(shape);
  share.forward += message_seconds(sent.forward, group, machine_);
  share.backward += message_seconds(sent.backward, group, machine_);
  const LayerTimes head = layer_times(head_work(job_.model, shard, shape), {types.type}, machine_);
  share.ends = head.forward + head.backward;
  share.block_elements = elements_of(stage.layer(0, 1));
  share.end_elements = elements_of(stage.layer(0, 0));
  share.frame = static_cast<double>(stage.layer(0, 1).frame_bytes(shape));
  share.boundary = static_cast<double>(shape.local_rows * job_.model.hidden) *
                   static_cast<double>(size_of(shape.type));
  return share;
}

const Bounds::Share& Bounds::share(const Candidate& candidate) {
  const auto [found, absent] =
      shares_.try_emplace({candidate.tensor, candidate.micro, candidate.recompute}, Share{});
  if (absent) found->second = make_share(candidate);
  return found->second;
}

// Seconds of the data axis' own stream, which nothing can shorten.
double Bounds::message_bound(const Candidate& candidate, const Share& share) const {
  if (candidate.data == 1) return 0.0;
  const double elements = share.block_elements * job_.model.layers / candidate.pipeline;
  const double weight = static_cast<double>(size_of(job_.precision.type));
  const double part = 1.0 - 1.0 / candidate.data;
  const auto m = static_cast<double>(candidate.accumulation);
  const double gradients = candidate.zero >= 2 ? m : 1.0;
  const double gathers = candidate.zero == 3 ? 2.0 * m : candidate.zero == 0 ? 0.0 : 1.0;
  const int near = std::max(1, machine_.ranks_per_node / candidate.tensor / candidate.pipeline);
  const SharingGroups::Group group{candidate.data, std::min(near, candidate.data)};
  const double volume = candidate.zero == 0 ? 2.0 : gradients + gathers;
  return part * elements * weight * volume / bus_bandwidth(group, machine_);
}

double Bounds::seconds(const Candidate& candidate) {
  const Share& s = share(candidate);
  const double again = candidate.recompute == Recompute::layer       ? s.forward
                       : candidate.recompute == Recompute::attention ? s.attention
                                                                     : 0.0;
  const double block = s.forward + s.backward + again;
  const double p = candidate.pipeline;
  const auto m = static_cast<double>(candidate.accumulation);
  const double work = m * (block * job_.model.layers + s.ends) / p;
  const int in_chunk = job_.model.layers / candidate.pipeline / candidate.chunks;
  // Weight gradients, about a forward pass each, fill two of the three waits of zero-bubble.
  const double wait = candidate.zero_bubble ? std::max(0.0, block - 2.0 * s.forward) : block;
  const double fill = (p - 1.0) * in_chunk * wait;
  const double elements =
      s.block_elements * job_.model.layers / p / (candidate.zero >= 1 ? candidate.data : 1);
  const double bandwidth = candidate.offload == Offload::none
                               ? machine_.memory_bandwidth * machine_.efficiency.memory
                               : machine_.host_bandwidth;
  // State is read and written, the gradient read, the weight written.
  const double step =
      elements * (2.0 * of_one_.state + of_one_.gradient + of_one_.weight) / bandwidth;
  return 0.95 * std::max(work + fill + step, message_bound(candidate, s));
}

double Bounds::bytes(const Candidate& candidate) {
  const Share& s = share(candidate);
  const double blocks = static_cast<double>(job_.model.layers) / candidate.pipeline;
  const double elements = s.block_elements * blocks;
  const auto cut = [&](int stage) { return candidate.zero >= stage ? candidate.data : 1; };
  double bytes =
      candidate.offload == Offload::parameters ? 0.0 : elements * of_one_.weight / cut(3);
  bytes += elements * of_one_.gradient / cut(2);
  if (candidate.offload == Offload::none) bytes += elements * of_one_.state / cut(1);
  const double kept = candidate.recompute == Recompute::layer ? s.boundary : s.frame;
  return 0.9 * (bytes + kept * blocks * held_microbatches(candidate));
}

}  // namespace triax
