// SPDX-License-Identifier: Apache-2.0
#pragma once
// Size of the paged KV cache.
#include "src/inference/engine/engine_options.hpp"
#include "src/inference/grid_model.hpp"

namespace triax {

/// UsageError if an option is wrong in itself.
void check_options(const EngineOptions& options);

/// Rows of the largest step.
std::int64_t most_step_rows(const GridModel& model, const EngineOptions& options);

/// Blocks of the KV cache: what options.sequences texts of the whole context need, or what
/// memory_fraction of `left` (bytes of this rank's memory, beside the weights) holds beside the
/// activations. UsageError if not one text of the whole context fits, with the length that would.
std::int64_t cache_blocks_of(const GridModel& model, const EngineOptions& options, double left);

/// Bytes that this rank may still take: its share of the memory limit of this machine, less what
/// it has taken.
double memory_left(const ProcessGrid& grid);

}  // namespace triax
