#pragma once
// Saves and restores the state of a run: every rank its own pieces of one file in global shapes, so
// that any grid resumes any other's file.
#include <string>

#include "io/checkpoint_file.hpp"
#include "src/comm/process_grid.hpp"
#include "src/state/optimizer.hpp"
#include "src/state/parameter_store.hpp"

namespace triax {

/// Writes `path`: /model, /optimizer/exp_avg and /optimizer/exp_avg_sq. Collective over the
/// grid.
void save_checkpoint(const Stream& stream, const std::string& path, const CheckpointHeader& header,
                     const ModelConfig& model, ParameterStore& store, Optimizer& optimizer,
                     const ProcessGrid& grid, const CheckpointOptions& options = {});

/// The files and hints that a job asks for.
CheckpointOptions checkpoint_options(const CheckpointConfig& config);

/// Fills weights, and moments where `optimizer` is given. Error where the file's model is another.
void restore_checkpoint(const Stream& stream, const CheckpointReader& reader,
                        const ModelConfig& model, ParameterStore& store, Optimizer* optimizer);

}  // namespace triax
