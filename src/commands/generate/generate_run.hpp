// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of triax generate.
#include "src/comm/grid/process_grid.hpp"
#include "src/commands/generate/generate_arguments.hpp"
#include "src/inference/engine/engine_options.hpp"

namespace triax {

/// Continues the prompts on the ranks of `grid` and prints the texts on rank 0. Collective. Texts
/// that fit into the model's trained length are computed together by the paged engine. Others, and
/// all on GPUs, one after another by Generator, which drops the first tokens of a text that grows
/// too long.
void generate_on(ProcessGrid& grid, const GenerateArguments& arguments,
                 const EngineOptions& options);

}  // namespace triax
