// SPDX-License-Identifier: Apache-2.0
#pragma once
// The data files of a run whose data.format is not "tokens": each file of JSON lines becomes a
// token file, which is kept and found again.
#include <string>
#include <vector>

#include "kernels/base/mpi/agree.hpp"
#include "src/config/config.hpp"
#include "src/config/conversation.hpp"
#include "src/data/chat/sample_encoder.hpp"

namespace triax {

/// Directory below run.directory for prepared files.
inline constexpr const char* prepared_directory = "data";

/// Collective. Replaces the files of `data`, train and valid, by prepared ones in `directory`,
/// which rank 0 makes where they do not exist: their names have a hash of the file's content,
/// tokenizer, template and options. With data.packing a row holds several samples, with
/// data.mask_documents each sample is a document. HDF5 files stay as they are. With a
/// validation_fraction the files of each source become one, and data.valid is a file of the lines
/// that are left out of them. `files`: of the run's tokenizer, on rank 0. UsageError on all ranks
/// where a file, or a side of the split, has no sample that trains.
void prepare_conversations(const Ranks& ranks, const TokenizerFiles& files,
                           const ConversationConfig& conversation, const std::string& directory,
                           int threads, DataConfig& data);

/// One line about a prepared file: samples, tokens, how full its rows are, what was left out and
/// why. `pairs`: of preference data.
std::string counts_text(const ChatCounts& counts, std::int64_t rows, std::int64_t row_length,
                        bool pairs = false);

}  // namespace triax
