// SPDX-License-Identifier: Apache-2.0
#pragma once
// Saves and restores the state of a run: every rank its own pieces of one file in global shapes, so
// that any grid resumes any other's file.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_snapshot.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/state/optimizer/optimizer.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

// Where a file has weights, and their float32 copies where those are 16-bit.
inline constexpr const char* weight_group = "/model/";
inline constexpr const char* master_group = "/master/";

/// Writes `path`: /model, /optimizer/exp_avg and /optimizer/exp_avg_sq, and /master where the
/// weights are 16-bit. `optimizer` null: /model alone. Collective over the grid. Returns what
/// CheckpointWriter::publish does.
std::string save_checkpoint(const Stream& stream, const std::string& path,
                            const CheckpointHeader& header, const ModelConfig& model,
                            ParameterStore& store, Optimizer* optimizer, const ProcessGrid& grid,
                            const CheckpointOptions& options = {});

/// The tensors of a file that save_checkpoint writes.
std::vector<CheckpointTensor> checkpoint_tensors(const ModelConfig& model,
                                                 const ParameterStore& store,
                                                 const Optimizer* optimizer);

/// Adds all that save_checkpoint writes of this rank. What is in memory may not change until
/// snapshot.copy() has returned; with state in a store all is copied here. Error where that cannot
/// be read.
void take_snapshot(const Stream& stream, ParameterStore& store, Optimizer& optimizer,
                   CheckpointSnapshot& snapshot);
/// The bytes that a CheckpointSnapshot needs at most for blocks of a model of `type` with their
/// optimizer.
std::int64_t snapshot_bytes(const std::vector<ParameterBlock>& blocks, DType type);

/// The files and hints that a job asks for.
CheckpointOptions checkpoint_options(const CheckpointConfig& config);

/// The most that saving and restoring take of memory beside what they move, for blocks of a model
/// of `type` in `space`: pieces go through a buffer on the host where memory has them elsewhere, or
/// in another type or order.
std::int64_t staging_bytes(const std::vector<ParameterBlock>& blocks, DType type,
                           MemorySpace space = MemorySpace::host);

/// Whether a file has the moments of an optimizer; one that was imported has not.
bool has_optimizer(const CheckpointReader& reader, const ModelConfig& model);

/// Error on all ranks alike where the file's model is another. Collective.
void check_same_model(const CheckpointReader& reader, const ModelConfig& model, const Ranks& ranks);

/// A line for each key of the model that may change when a run is resumed, and has: its dropout and
/// rotary positions.
std::vector<std::string> model_changes(const CheckpointHeader& header, const ModelConfig& model);

/// Fills weights, and moments where `optimizer` is given: with zeros where the file has none; its
/// model is the store's (check_same_model). Collective: every rank calls it with its own store, and
/// they share what is read. Error on all ranks alike where that is damaged: the state is then
/// neither the file's nor what it was. `memory`: LoaderOptions::memory.
void restore_checkpoint(const Stream& stream, const CheckpointReader& reader,
                        const ModelConfig& model, ParameterStore& store, Optimizer* optimizer,
                        const Ranks& ranks, std::span<std::byte> memory = {});

}  // namespace triax
