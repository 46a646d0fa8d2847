// SPDX-License-Identifier: Apache-2.0
// Weights and position that a run starts from.
#include <algorithm>
#include <utility>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "src/checkpoint/resume_changes.hpp"
#include "src/checkpoint/resume_data.hpp"
#include "src/launch/run_directory.hpp"
#include "src/state/weights/initial_weights.hpp"
#include "src/trainer/trainer.hpp"

namespace triax {
namespace {

// Whether the optimizer has states that begin at zero: all but an average of the weights.
bool starts_from_zero(const std::vector<StateKind>& states) {
  return std::ranges::any_of(states,
                             [](const StateKind& kind) { return kind.start == StateStart::zero; });
}

}  // namespace

// Weights that training starts from.
void Trainer::load_start() {
  const FileScope working(grid_.watch());
  if (config_.model.weights.empty())
    return initialize_weights(rank_.stream, rank_.store, config_.run.seed, &rank_.optimizer);
  start_.weights = load_weights(rank_.stream, rank_.store, config_.model, config_.model.weights,
                                &rank_.optimizer, config_.run.seed);
}

// Returns whether the weights that training starts from are loaded: the reference needed them.
bool Trainer::prepare_reference() {
  if (!reference_) return false;
  const bool missing = reference_->missing();
  if (missing) {
    load_start();
    reference_->make();
  }
  rank_.batch.set_reference(&reference_->train());
  if (evaluator_) evaluator_->set_reference(&reference_->valid());
  return missing;
}

void Trainer::prepare_weights() {
  const std::optional opened = checkpoint_to_resume(grid_, config_.checkpoint);
  if (opened) check_reference(opened->header(), config_);
  const bool started = prepare_reference();
  const FileScope working(grid_.watch());
  if (opened) {
    const CheckpointReader& reader = *opened;
    check_same_model(reader, config_.model, grid_);
    const std::vector<std::string> of_data = restore(reader);
    if (config_.model.lora)
      start_.weights =
          load_base_weights(rank_.stream, rank_.store, config_.model, config_.model.weights);
    losses_.restore(resume_losses(reader.header(), job_.resolved), start_.step);
    restore_best(reader.header());
    start_.changes = resume_changes(reader.header(), job_, rank_.train_data,
                                    start_.step - steps_.loss_scaler().skipped());
    if (has_steps()) start_.changes.insert(start_.changes.end(), of_data.begin(), of_data.end());
    start_.other_losses = computes_other_losses(reader.header(), job_);
    const std::vector<StateKind>& states = rank_.optimizer.states();
    start_.fresh_optimizer = starts_from_zero(states) && saved_states(reader).empty();
    for (std::string line : {state_text(reader, states), average_text(reader, states),
                             newly_trained(reader, config_.model)})
      if (!line.empty()) start_.changes.push_back(std::move(line));
  } else if (!started) {
    load_start();
  }
}

// Restores all but the losses from a checkpoint of the same model. Returns a line per change of the
// training data.
std::vector<std::string> Trainer::restore(const CheckpointReader& reader) {
  try {
    restore_checkpoint(rank_.stream, reader, config_.model, rank_.store, &rank_.optimizer, grid_,
                       rank_.buffers.idle_memory());
  } catch (const Error&) {
    check_whole(grid_, reader.path(),
                config_.checkpoint.directory);  // names a checkpoint that is whole
    throw;
  }
  start_.step = reader.header().step;
  DataStart data = resume_data(reader.header(), job_, rank_.train_data);
  start_.sample = data.sample;
  if (data.state) rank_.train_data.set_state(*data.state);
  start_.token = reader.header().tokens;
  start_.resumed_from = reader.path();
  steps_.loss_scaler().restore(reader.header().loss_scale);
  const std::int64_t updates = start_.step - steps_.loss_scaler().skipped();
  rank_.optimizer.set_starts(
      starts_of(reader, rank_.optimizer.states(), updates),
      tensor_starts_of(reader, config_.model, rank_.optimizer.states(), updates));
  return std::move(data.changes);
}

}  // namespace triax
