// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tokenizer of a run: which it is, and whether the run's data were made by it.
#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/config/config.hpp"

namespace triax {

/// Collective. The tokenizer that data.tokenizer names. "auto": that of the checkpoint that is
/// resumed, else of model.from, else the one whose hash the data files have. Its hash is unknown
/// where none of them says one. UsageError on all ranks where it is not the checkpoint's (unless
/// data.tokenizer_hash names it), not that of data.tokenizer_hash, or a data file was made by
/// another. A data file that names no tokenizer is taken. `chat_template`: name or file of the one
/// that the run's conversations go through (chat_template_text), which takes the place of the
/// tokenizer's in checkpoints and exports; empty: that is the tokenizer's own.
RunTokenizer choose_tokenizer(ProcessGrid& grid, const Config& config,
                              const std::string& chat_template = {});

/// The job (JSON) with the hash of its tokenizer; unchanged where that is unknown.
std::string with_tokenizer_hash(const std::string& job, const std::string& hash);

}  // namespace triax
