// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tokenizer that travels with a run: its files are byte datasets of a checkpoint, /tokenizer/
// followed by the file's name. Checksums and part files treat them as tensors.
#include <cstdint>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "src/text/open_tokenizer.hpp"

namespace triax {

inline constexpr const char* tokenizer_group = "/tokenizer/";

/// Tokenizer of a run, or of a checkpoint.
struct RunTokenizer {
  std::string name;    // for the user: "bytes", a path
  std::string hash;    // Tokenizer::fingerprint(); empty: not known
  std::string format;  // empty: only the hash is known
  std::int64_t vocabulary = 0;
  std::int64_t end_token = -1;                  // -1: none, or not known
  std::vector<CheckpointTensor> datasets = {};  // of its files, the same on all ranks
  TokenizerFiles files = {};                    // on rank 0
};

/// The tokenizer that `files` define, or the files alone where they define none.
RunTokenizer run_tokenizer(TokenizerFiles files);
/// The tokenizer of a name: see open_with_facts(), or a checkpoint that has one.
RunTokenizer named_run_tokenizer(const std::string& name);
/// Collective. The same on all ranks, with the files on rank 0 alone.
RunTokenizer shared_tokenizer(const Ranks& ranks, RunTokenizer of_rank_0);

/// Writes the files, on rank 0, into datasets that create() made of `datasets`.
void write_tokenizer(const RunTokenizer& tokenizer, const Ranks& ranks, CheckpointWriter& writer);

/// Text for key `tokenizer_key` of a checkpoint's job; empty: there is nothing to say.
std::string tokenizer_text(const RunTokenizer& tokenizer);
inline constexpr const char* tokenizer_key = "tokenizer";  // of the section "triax"

/// Whether a checkpoint has files of a tokenizer.
bool has_tokenizer(const CheckpointReader& reader);
/// Files of a checkpoint's tokenizer; none where it has no tokenizer. Error where they do not match
/// their checksums. One process.
TokenizerFiles saved_tokenizer_files(const CheckpointReader& reader);
/// The tokenizer of a checkpoint. Without files, its hash alone, which the job may name.
RunTokenizer saved_tokenizer(const CheckpointReader& reader);

/// Files of the tokenizer that `name` names: a directory, a file or a checkpoint.
TokenizerFiles named_tokenizer_files(const std::string& name);
/// open_with_facts(), also for a checkpoint.
OpenedTokenizer open_named_tokenizer(const std::string& name);

}  // namespace triax
