// SPDX-License-Identifier: Apache-2.0
#pragma once
// Export at the end of a run (zero_optimization.stage3_gather_16bit_weights_on_model_save).
#include <string>

#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/config/config.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

/// Exports the model to <run.directory>/huggingface, replacing an earlier export: in the 16-bit
/// type of the training, or bf16 if that is float32. Reads `checkpoint`; if it is empty, writes a
/// temporary file of the weights to run.directory first. `tokenizer`: files that are exported, too.
/// Collective; all ranks throw an Error.
void export_at_end(const Stream& stream, const Config& config, const std::string& checkpoint,
                   ParameterStore& store, const ProcessGrid& grid, const RunTokenizer& tokenizer);

}  // namespace triax
