// SPDX-License-Identifier: Apache-2.0
#pragma once
// Export at the end of a run (zero_optimization.stage3_gather_16bit_weights_on_model_save).
#include <string>

#include "src/comm/grid/process_grid.hpp"
#include "src/config/config.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

/// Writes the whole model for Hugging Face to huggingface in run.directory, in place of a former
/// one: in the type of the training, or bf16 where that is float32. From `checkpoint`; where that
/// is empty, from a file of the weights alone, in run.directory, which is there for as long as it
/// takes. Collective; an Error is thrown on every rank alike.
void export_at_end(const Stream& stream, const Config& config, const std::string& checkpoint,
                   ParameterStore& store, const ProcessGrid& grid);

}  // namespace triax
