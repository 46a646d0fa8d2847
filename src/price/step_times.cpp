// SPDX-License-Identifier: Apache-2.0
#include "src/price/step_times.hpp"

#include <algorithm>

#include "src/executor/step_buffers.hpp"
#include "src/price/message_times.hpp"
#include "src/schedule/schedules.hpp"
#include "src/state/block_matrices.hpp"
#include "src/state/optimizer/rules/rules.hpp"

namespace triax {

void check_type(const Config& config, const Machine& machine) {
  const PrecisionConfig& precision = config.precision;
  if (machine.flops(precision.type, precision.fp8) > 0.0 &&
      machine.flops(precision.type, false) > 0.0)
    return;
  throw UsageError(
      fmt::format("machine {} does not compute in {}", machine.name,
                  precision.fp8 ? "fp8" : name_of(precision.type)),
      "its description gives no FLOP/s for that type",
      "Set bf16.enabled, fp16.enabled or fp8.enabled to a type that it has, or add the figure");
}

StageCosts::StageCosts(const PlacedConfig& config, const Machine& machine,
                       const SharingGroups& groups, int stage)
    : config_(config),
      machine_(machine),
      groups_(groups),
      stage_(make_stage(config, stage, 0, StageUse::plan)),
      shape_(batch_shape(config, stage_.place().tensor)),
      blocks_(lay_out_blocks(stage_, data_shard(config, 0))),
      messages_(config, stage_, blocks_),
      states_(states_of(config.optimizer)) {
  for (int chunk = 0; chunk < stage_.chunks(); ++chunk) {
    auto& row = layers_.emplace_back();
    const int global = chunk * stage_.place().stages + stage;
    const int offset = global == 0 ? 1 : 0;  // the embedding
    for (int layer = 0; layer < stage_.layers(chunk); ++layer)
      row.push_back(layer_seconds(chunk, layer, stage_.first_block(chunk) + layer - offset));
  }
  norm_ = norm_seconds();
}

StageCosts::LayerSeconds StageCosts::layer_seconds(int chunk, int layer, int block) const {
  const ModelConfig& model = config_.model;
  const int global = chunk * stage_.place().stages + stage_.place().stage;
  const bool embedding = global == 0 && layer == 0;
  const bool last_chunk = global == stage_.place().stages * stage_.chunks() - 1;
  const bool head = last_chunk && layer == stage_.layers(chunk) - 1;
  const LayerWork work = embedding ? embedding_work(model, shape_)
                         : head    ? head_work(model, stage_.place().tensor, shape_)
                                   : block_work(model, block, stage_.place().tensor, shape_);
  const bool fp8 = config_.precision.fp8 && !embedding && !head;
  const LayerTimes times = layer_times(work, {config_.precision.type, fp8}, machine_);
  const LayerMessages sent = stage_.layer(chunk, layer).messages(shape_);
  const SharingGroups::Group& tensor = groups_.axes[static_cast<std::size_t>(Axis::tensor)];
  const double forward = message_seconds(sent.forward, tensor, machine_);
  const double backward = message_seconds(sent.backward, tensor, machine_);
  // The head's forward pass computes the gradients of its product too.
  if (head) return {times.forward + times.backward + forward, backward, 0.0, 0.0};
  const bool selective = config_.recompute.what == Recompute::attention && !embedding;
  const double weights = defers_weights(chunk, layer) ? times.weights : 0.0;
  return {times.forward + forward,
          times.backward - weights + backward + (selective ? times.attention : 0.0),
          times.forward + forward, weights};
}

bool StageCosts::defers_weights(int chunk, int layer) const {
  return schedule(config_.parallel.schedule, config_.parallel.compute_order).splits_backward &&
         stage_.layer(chunk, layer).operand_bytes(shape_) > 0;
}

OpTime StageCosts::beside(double seconds) const {
  const double overlap = machine_.efficiency.overlap;
  return {.holds = (1.0 - overlap) * seconds, .transfer = overlap * seconds};
}

double StageCosts::sent_seconds(const Op& op) const {
  const OpMessages::Sent sent = messages_.of(op);
  return message_seconds(sent.messages, groups_.of(op.kind, sent.axis), machine_);
}

OpTime StageCosts::send(const Op& op) const {
  // Neighbours are on one node unless a run of stages on a node ends between them.
  const int stage = stage_.place().stage, stages = stage_.place().stages;
  const int to =
      op.kind == OpKind::SendActivationStart ? (stage + 1) % stages : (stage + stages - 1) % stages;
  const int run =
      std::max(1, config_.place.ranks_sharing[static_cast<std::size_t>(Axis::pipeline)]);
  const auto bytes = static_cast<double>(messages_.of(op).messages.total().bytes);
  return beside(send_seconds(bytes, stage / run == to / run, machine_));
}

double StageCosts::state_bytes(const ParameterBlock& block, const FlatRange& range) const {
  const std::int64_t master =
      config_.precision.type == DType::f32 ? 0 : range.count() * std::int64_t{sizeof(float)};
  return static_cast<double>(master + bytes_of(states_, block, range.count()));
}

OpTime StageCosts::store(const Op& op) const {
  const ParameterBlock& block = blocks_[static_cast<std::size_t>(op.block)];
  const auto element = static_cast<double>(size_of(config_.precision.type));
  const double disk = machine_.nvme_bandwidth / machine_.ranks_per_node;
  const bool state = op.kind == OpKind::FetchStart || op.kind == OpKind::StoreStart;
  double bytes = static_cast<double>(block.parameters.count()) * element, bandwidth = disk;
  if (state && op.part >= 0)
    bytes = state_bytes(block, block.parts[static_cast<std::size_t>(op.part)]);
  if (!state && block.home == ParameterHome::host) bandwidth = machine_.host_bandwidth;
  if (bandwidth <= 0.0)
    throw UsageError(fmt::format("machine {} has no disk for offloaded state", machine_.name),
                     "nvme.bandwidth is absent", "Set it in the machine's description");
  return {.transfer = bytes / bandwidth};
}

double StageCosts::step_seconds(const Op& op) const {
  const ParameterBlock& block = blocks_[static_cast<std::size_t>(op.block)];
  const FlatRange range = op.part >= 0 && !block.parts.empty()
                              ? block.parts[static_cast<std::size_t>(op.part)]
                              : block.stepped;
  const auto elements = static_cast<double>(range.count());
  const auto weight = static_cast<double>(size_of(config_.precision.type));
  const auto gradient = static_cast<double>(size_of(config_.precision.gradient_type));
  // State is read and written, the gradient read, the weight written.
  const double state = 2.0 * state_bytes(block, range), rest = elements * (gradient + weight);
  const double bandwidth = machine_.memory_bandwidth * machine_.efficiency.memory;
  if (!block.host_state || machine_.host_bandwidth <= 0.0) return (state + rest) / bandwidth;
  return (state + rest) / machine_.host_bandwidth;  // the host's memory is about as fast
}

double StageCosts::orthogonal_seconds(const ParameterBlock& block) const {
  const int ranks = data_shard(config_, 0).size;
  const std::vector<int> owners = matrix_owners(block, ranks);
  double flops = machine_.flops(DType::f32, false);
  if (flops <= 0.0) flops = machine_.flops(config_.precision.type, false);
  std::vector<double> seconds(static_cast<std::size_t>(ranks));
  for (std::size_t p = 0; p < owners.size(); ++p)
    for (const BlockMatrix& matrix : matrices_of(block.params[p])) {
      const auto rows = static_cast<double>(matrix.global[0]);
      const auto columns = static_cast<double>(matrix.global[1]);
      const double a = std::min(rows, columns), b = std::max(rows, columns);
      for (const MatrixProduct& product : {MatrixProduct{a, a, b}, {a, a, a}, {a, b, a}})
        seconds[static_cast<std::size_t>(owners[p])] +=
            product_seconds(product, flops, sizeof(float), machine_);
    }
  const MatrixRule& rule = *optimizer_rule(config_.optimizer.type).matrices;
  return rule.iteration(config_.optimizer).steps * *std::ranges::max_element(seconds);
}

double StageCosts::norm_seconds() const {
  double elements = 0.0;
  for (const ParameterBlock& block : blocks_)
    if (block.trained) elements += static_cast<double>(block.own.count());
  const double bandwidth = machine_.memory_bandwidth * machine_.efficiency.memory;
  const int ranks = config_.parallel.data * config_.parallel.tensor * config_.parallel.pipeline;
  Messages sum;
  sum.all_reduce = {1, 8};
  const int on_node = std::min(ranks, machine_.ranks_per_node);
  return elements * static_cast<double>(size_of(config_.precision.gradient_type)) / bandwidth +
         message_seconds(sum, {ranks, on_node}, machine_);
}

OpTime StageCosts::of(const Op& op) const {
  switch (op.kind) {
    case OpKind::Forward:
    case OpKind::Recompute:
    case OpKind::Backward:
    case OpKind::WeightGradient: {
      const LayerSeconds& layer =
          layers_[static_cast<std::size_t>(op.chunk)][static_cast<std::size_t>(op.layer)];
      return {.holds = op.kind == OpKind::Forward          ? layer.forward
                       : op.kind == OpKind::Backward       ? layer.backward
                       : op.kind == OpKind::WeightGradient ? layer.weights
                                                           : layer.recompute};
    }
    case OpKind::SendActivationStart:
    case OpKind::SendGradientStart:
      return send(op);
    case OpKind::ReduceStart:
    case OpKind::GatherStart:
      return beside(sent_seconds(op));
    case OpKind::GatherInput:
    case OpKind::TensorSum:
    case OpKind::ReplicaSum:
    case OpKind::TiedSum:
    case OpKind::DirectionGather:
    case OpKind::DirectionBroadcast:
      return {.holds = sent_seconds(op)};
    case OpKind::Orthogonalize:
      return {.holds = sent_seconds(op) +
                       orthogonal_seconds(blocks_[static_cast<std::size_t>(op.block)])};
    case OpKind::GradientNorm:
      return {.holds = norm_};
    case OpKind::Momentum:
    case OpKind::Step:
      return {.holds = step_seconds(op)};
    case OpKind::OffloadInputStart:
    case OpKind::ReloadInputStart:
      return {.transfer = static_cast<double>(boundary_bytes(shape_, config_.model.hidden)) /
                          std::max(machine_.host_bandwidth, 1.0)};
    case OpKind::FetchStart:
    case OpKind::StoreStart:
    case OpKind::LoadStart:
    case OpKind::SaveStart:
      return store(op);
    default:
      return {};
  }
}

StepTimes::StepTimes(const PlacedConfig& config, const Machine& machine) : groups_(config) {
  check_type(config, machine);
  for (int stage = 0; stage < config.parallel.pipeline; ++stage)
    stages_.push_back(std::make_unique<StageCosts>(config, machine, groups_, stage));
}

}  // namespace triax
