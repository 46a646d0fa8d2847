// SPDX-License-Identifier: Apache-2.0
#pragma once
// The token formats behind open_tokens(), one open function per format. Internal to io/.
#include <memory>
#include <string>

#include "io/files/mapped_file.hpp"
#include "io/tokens/token_reader.hpp"

namespace triax {

/// Text: each byte is a token, 0 to 255.
std::unique_ptr<TokenFile> open_text(MappedFile file);

/// Whether the first non-blank line is a JSON object with a string "text".
bool is_jsonl(const MappedFile& file);
/// Why a file is not JSON lines although its name says so.
std::string why_not_jsonl(const MappedFile& file);
/// JSON lines: the "text" of each line, decoded and joined by '\n'; each byte is a token. Error
/// with the line number where a line has no "text". Collective over `ranks`: each rank scans its
/// share of the file for lines.
std::unique_ptr<TokenFile> open_jsonl(MappedFile file, const Ranks& ranks);

/// llm.c shard: 256 int32 (magic, version, count, zeros), then the tokens: uint16 for magic
/// 20240520 version 1 (GPT-2), uint32 for magic 20240801 version 7 (Llama 3).
bool is_llmc(const MappedFile& file);
std::unique_ptr<TokenFile> open_llmc(MappedFile file);

/// Whether the file begins with the magic of a Megatron index.
bool is_megatron_index(const MappedFile& file);
/// Megatron pair `prefix`.bin and `prefix`.idx. The sequences are read in the order of the index.
std::unique_ptr<TokenFile> open_megatron(const std::string& prefix);

/// HDF5: the 1-D integer dataset "/tokens", else the only 1-D integer dataset of the file. Soft and
/// external links count. An integer dataset "/labels" beside "/tokens" has their labels; Error
/// where its shape is another. One named "/documents" has the first token of each document and,
/// last, the number of tokens.
std::unique_ptr<TokenFile> open_hdf5_tokens(const std::string& path);

/// Fails unless [begin, begin + out.size()) lies in the file.
void check_token_range(const TokenFile& file, std::int64_t begin,
                       std::span<const std::int32_t> out);

}  // namespace triax
