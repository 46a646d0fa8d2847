// SPDX-License-Identifier: Apache-2.0
#pragma once
// Durations of the instructions of a job's plans on a machine, worked out once per stage.
#include <memory>
#include <vector>

#include "src/forecast/message_plan.hpp"
#include "src/machine/machine.hpp"
#include "src/price/layer_times.hpp"
#include "src/schedule/simulate/simulate.hpp"
#include "src/state/optimizer/packed_states.hpp"

namespace triax {

/// UsageError if the machine has no FLOP/s for the type of the job's products.
void check_type(const Config& config, const Machine& machine);

/// Seconds of one stage's layers and buckets.
class StageCosts {
 public:
  /// The references must outlive the object.
  StageCosts(const PlacedConfig& config, const Machine& machine, const SharingGroups& groups,
             int stage);

  /// Holding and transfer time of an instruction of the stage.
  OpTime of(const Op& op) const;
  const OpMessages& messages() const { return messages_; }

 private:
  // Seconds of one layer with its messages over the tensor axis.
  struct LayerSeconds {
    double forward = 0.0, backward = 0.0, recompute = 0.0;
    double weights = 0.0;  // weight gradients apart from the backward pass
  };
  bool defers_weights(int chunk, int layer) const;
  LayerSeconds layer_seconds(int chunk, int layer, int block) const;
  double sent_seconds(const Op& op) const;
  OpTime beside(double seconds) const;
  OpTime send(const Op& op) const;
  OpTime store(const Op& op) const;
  // Bytes of optimizer state and float32 master weights of a range of a bucket.
  double state_bytes(const ParameterBlock& block, const FlatRange& range) const;
  double step_seconds(const Op& op) const;
  // Newton-Schulz iterations of the data rank that has most of them (Muon).
  double orthogonal_seconds(const ParameterBlock& block) const;
  double norm_seconds() const;

  const PlacedConfig& config_;
  const Machine& machine_;
  const SharingGroups& groups_;
  Stage stage_;
  BatchShape shape_;
  std::vector<ParameterBlock> blocks_;
  OpMessages messages_;
  std::vector<std::vector<LayerSeconds>> layers_;  // by chunk
  std::vector<StateKind> states_;
  double norm_ = 0.0;
};

class StepTimes : public OpTimes {
 public:
  /// All references must outlive the object. UsageError as check_type().
  StepTimes(const PlacedConfig& config, const Machine& machine);

  OpTime of(int stage, const Op& op) const override {
    return stages_[static_cast<std::size_t>(stage)]->of(op);
  }
  const StageCosts& stage(int stage) const { return *stages_[static_cast<std::size_t>(stage)]; }

 private:
  SharingGroups groups_;
  std::vector<std::unique_ptr<StageCosts>> stages_;
};

}  // namespace triax
