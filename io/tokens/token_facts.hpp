// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts that a token file made by triax has beside its tokens: attributes of an HDF5 file, or a
// JSON file beside the files of the other formats.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace triax {

struct TokenFacts {
  std::string tokenizer;  // fingerprint: equal for equal tokenizers
  std::int64_t vocabulary = 0;
  std::int64_t end_token = -1;  // behind each document; -1: none
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
  std::uint64_t checksum = 0;  // token_checksum() of all tokens
  std::string job;             // fingerprint of inputs and options
  std::string version;         // of triax
  bool in_side_file = false;   // a JSON file beside the data has them
};

/// The names of the facts, with their values: "tokenizer", "vocabulary", ...
std::string facts_json(const TokenFacts& facts);

/// Facts of a token file: of PREFIX.h5 its attributes; of PREFIX.bin, PREFIX.idx or
/// PREFIX_000000.bin those in PREFIX.json. Nothing where there are none, as in text and in files
/// that other programs made. Error where they cannot be read.
std::optional<TokenFacts> token_facts(const std::string& path);
/// As above, from a JSON file.
std::optional<TokenFacts> read_facts_json(const std::string& path);

/// Name of the facts of a data file that is no HDF5 file: PREFIX.json.
std::string facts_path(const std::string& data);

/// Sum over tokens [first, first + bytes / width) of a file, of `width` bytes each (2 or 4); the
/// sums of all its ranges add up to that of the file (io/files/checksum.hpp).
std::uint64_t token_checksum(std::int64_t first, const std::byte* tokens, std::int64_t count,
                             int width);

}  // namespace triax
