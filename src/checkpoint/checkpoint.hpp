// SPDX-License-Identifier: Apache-2.0
#pragma once
// Saves and restores the state of a run. Every rank writes its own pieces of one file with tensors
// in global shapes, so that any grid can resume the file of any other.
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

// HDF5 groups of the weights, and of the float32 master copies of 16-bit weights.
inline constexpr const char* weight_group = "/model/";
inline constexpr const char* master_group = "/master/";

struct RunTokenizer;

/// Weights of a checkpoint to compute with: the trained ones, or their running average (run.ema).
/// Tensors that were frozen have one value.
enum class SavedWeights : std::uint8_t { trained, average };

/// Writes `path`: /model (of a model with adapters, these alone), and of trained tensors a group in
/// /optimizer for each state of the optimizer, and /master where the weights are 16-bit.
/// `optimizer` null: /model alone. `tokenizer` null: none. Collective over the grid. Returns the
/// text of CheckpointWriter::publish.
std::string save_checkpoint(const Stream& stream, const std::string& path,
                            const CheckpointHeader& header, const ModelConfig& model,
                            ParameterStore& store, Optimizer* optimizer, const ProcessGrid& grid,
                            const CheckpointOptions& options = {},
                            const RunTokenizer* tokenizer = nullptr);

/// Names, types and global shapes of the tensors that save_checkpoint writes.
std::vector<CheckpointTensor> checkpoint_tensors(const ModelConfig& model,
                                                 const ParameterStore& store,
                                                 const Optimizer* optimizer);

/// Adds to `snapshot` every piece that save_checkpoint would write on this rank. The state must not
/// change until snapshot.copy() has returned; if state is offloaded, everything is copied here.
/// Error if offloaded state cannot be read.
void take_snapshot(const Stream& stream, ParameterStore& store, Optimizer& optimizer,
                   CheckpointSnapshot& snapshot);
/// Upper bound of the bytes of a CheckpointSnapshot for buckets of parameters of `type` and their
/// optimizer `states`.
std::int64_t snapshot_bytes(const std::vector<ParameterBlock>& blocks, DType type,
                            const std::vector<StateKind>& states);

/// Number of files and MPI-IO hints from the keys of a job.
CheckpointOptions checkpoint_options(const CheckpointConfig& config);

/// Upper bound of the host memory (bytes) of the bounce buffers that saving and restoring use for
/// buckets of parameters of `type` in `space`. Pieces go through a bounce buffer if they lie on a
/// device, have another type than the file, or do not lie contiguously; all packed states do.
std::int64_t staging_bytes(const std::vector<ParameterBlock>& blocks, DType type,
                           MemorySpace space = MemorySpace::host,
                           const std::vector<StateKind>& states = {});

/// UsageError on all ranks if the file holds another model; Error if the file lacks tensors of the
/// model that it names. Collective.
void check_same_model(const CheckpointReader& reader, const ModelConfig& model, const Ranks& ranks);

/// One line about tensors that are trained from here on and were frozen in the run that wrote the
/// file: their optimizer states start from zero. Empty if there are none.
std::string newly_trained(const CheckpointReader& reader, const ModelConfig& model);

/// One line per changed key of the model that a resumed run is allowed to change: dropout, special
/// token ids, rotary positions.
std::vector<std::string> model_changes(const CheckpointHeader& header, const ModelConfig& model);

/// Restores the weights and, if `optimizer` is given, the master weights and the optimizer's states
/// of trained tensors (from the weights, and zeros, where the file has none). The file's model must
/// be the store's (check_same_model). Collective: every rank passes its own store, and the ranks
/// share what they read. Error on all ranks if the data are damaged; the state is then undefined.
/// `memory`: LoaderOptions::memory. `weights`: which, if no `optimizer` is given.
void restore_checkpoint(const Stream& stream, const CheckpointReader& reader,
                        const ModelConfig& model, ParameterStore& store, Optimizer* optimizer,
                        const Ranks& ranks, std::span<std::byte> memory = {},
                        SavedWeights weights = SavedWeights::trained);

/// restore_checkpoint of the weights alone. A checkpoint of adapters is completed by the base in
/// model.weights. Collective.
void restore_model(const Stream& stream, const CheckpointReader& reader, const ModelConfig& model,
                   ParameterStore& store, const Ranks& ranks,
                   SavedWeights weights = SavedWeights::trained);

}  // namespace triax
