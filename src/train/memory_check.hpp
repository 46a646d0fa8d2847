#pragma once
// Sizes that no machine at hand can hold, found before anything is built from them.
#include "src/comm/process_grid.hpp"
#include "src/config/config.hpp"

namespace triax {

/// Bytes of memory of this machine.
double node_memory();

/// Parameters of a model, tied ones once. From two models of one and two blocks: a million blocks
/// cost no more.
double count_parameters(const ModelConfig& model);

/// Bytes that the largest rank cannot do without: its part of the parameters, their gradients and
/// the optimizer state (of what ZeRO cuts, its share), and the widest activations of a
/// micro-batch. Less than what it will take.
double least_bytes_of_rank(const Config& config);

/// Bytes of the instructions of a step, of all stages, which every rank builds.
double plan_bytes(const Config& config);

/// UsageError where a rank needs more than `bytes` surely. Before plans, stages and buffers: those
/// of an impossible size would take hours or end in bad_alloc.
void check_memory(const Config& config, double bytes);

/// The same on the ranks of a grid, each with an equal part of its node's memory. Collective; all
/// ranks throw alike.
void check_memory(const Config& config, const ProcessGrid& grid);

/// For a plan alone, which needs neither weights nor activations.
void check_plan_size(const Config& config, double bytes);

}  // namespace triax
