#pragma once
// The token formats behind open_tokens(), one function each. Internal to io/.
#include <memory>
#include <string>

#include "io/files/mapped_file.hpp"
#include "io/tokens/token_reader.hpp"

namespace triax {

/// Bytes as tokens, 0 to 255.
std::unique_ptr<TokenFile> open_text(MappedFile file);

/// True when the first line that is not blank is a JSON object with a string "text".
bool is_jsonl(const MappedFile& file);
/// True when that line is a JSON object of any kind.
bool starts_with_json_object(const MappedFile& file);
/// The "text" of each line, decoded and joined by '\n', bytes as tokens. Error: a line without it,
/// by number. Collective over `ranks`, which share out the looking for lines.
std::unique_ptr<TokenFile> open_jsonl(MappedFile file, const Ranks& ranks);

/// llm.c's shard: 256 int32 (magic, version, count, zeros), then the tokens: uint16 for magic
/// 20240520 version 1 (GPT-2), uint32 for magic 20240801 version 7 (Llama 3).
bool is_llmc(const MappedFile& file);
std::unique_ptr<TokenFile> open_llmc(MappedFile file);

/// Megatron's index begins with this magic.
bool is_megatron_index(const MappedFile& file);
/// A Megatron pair; `prefix` + ".bin" and `prefix` + ".idx". Sequences follow one another in index
/// order.
std::unique_ptr<TokenFile> open_megatron(const std::string& prefix);

/// The integer dataset "/tokens" of one dimension or none, else the only 1-D integer dataset of the
/// file; soft and external links to them count.
std::unique_ptr<TokenFile> open_hdf5_tokens(const std::string& path);

/// Fails unless [begin, begin + out.size()) lies in the file.
void check_token_range(const TokenFile& file, std::int64_t begin,
                       std::span<const std::int32_t> out);

}  // namespace triax
