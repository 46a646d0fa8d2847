// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the ranks of a replica learn what they compute.
#include <optional>

#include "src/comm/grid/process_grid.hpp"
#include "src/inference/engine/step_batch.hpp"
#include "src/inference/grid/message_line.hpp"

namespace triax {

/// The numbers of a batch, all its ranks need to know; no numbers: there is no batch any more.
std::vector<std::int32_t> numbers_of(const StepBatch& batch);
std::optional<StepBatch> batch_of(std::span<const std::int32_t> numbers);

/// The leader of a replica, the rank of tensor rank 0 on the first stage, announces each step to
/// the others with one message: along the pipeline, then to the tensor ranks of each stage.
class StepControl {
 public:
  explicit StepControl(ProcessGrid& grid);
  bool leads() const { return grid_.tensor_rank() == 0 && grid_.pipeline_rank() == 0; }
  bool is_alone() const { return grid_.shape().tensor * grid_.shape().pipeline == 1; }
  /// On the leader: the others start this step. Returns before they have it.
  void announce(const StepBatch& batch);
  /// On the leader: there are no more steps.
  void end();
  /// On the others: the next step; nothing at the end. Sleeps until it comes.
  std::optional<StepBatch> next();

 private:
  void send(const std::vector<std::int32_t>& numbers);

  ProcessGrid& grid_;
  MessageLine stages_, tensor_;
};

}  // namespace triax
