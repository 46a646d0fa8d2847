// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writers of token files. Ranks and threads write a file together, in extents of equal length; the
// files are made in a directory of their own, and get their names when all of them are whole.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/tokens/token_facts.hpp"

namespace triax {

enum class TokenFormat : std::uint8_t { hdf5, megatron, llmc };
/// "hdf5", "megatron", "llmc".
std::string_view name_of(TokenFormat format);
std::optional<TokenFormat> token_format(std::string_view name);

/// Tokens of an extent; the last one of a file is shorter.
inline constexpr std::int64_t extent_tokens = std::int64_t{1} << 20;

struct TokenOutput {
  std::string prefix;     // of the final names
  std::string directory;  // for files that are not whole yet, on the same file system
  std::int64_t tokens = 0;
  std::int64_t documents = 0;
  std::int64_t vocabulary = 0;              // ids are below it
  std::int64_t shard_tokens = 100'000'000;  // of llm.c's shards

  std::int64_t extents() const { return (tokens + extent_tokens - 1) / extent_tokens; }
};

/// Bytes of a token in files of this format: 2 (uint16), or 4 where ids do not fit.
int token_bytes(TokenFormat format, std::int64_t vocabulary);

class TokenWriter {
 public:
  /// A file that is whole: its name in the directory, and its final name.
  using Named = std::pair<std::string, std::string>;

  virtual ~TokenWriter() = default;
  /// One process, before the others write: creates the files and reserves their space.
  virtual void begin() = 0;
  /// Tokens of extent `extent`, token_bytes() each. Any process and thread, each extent once.
  virtual void write(std::int64_t extent, std::span<const std::byte> tokens) = 0;
  /// One process, once all extents are written. `lengths`: file of document_lengths.hpp.
  virtual void finish(const std::string& lengths, const TokenFacts& facts) = 0;
  /// The files to rename, in this order. The last one has the facts: where it has its name, all
  /// others have theirs.
  virtual std::vector<Named> files() const = 0;
};

std::unique_ptr<TokenWriter> make_token_writer(TokenFormat format, const TokenOutput& output);

/// The file that is renamed last: PREFIX.h5 or PREFIX.json.
std::string last_file(TokenFormat format, const std::string& prefix);
/// The first data file: what open_tokens() takes.
std::string first_file(TokenFormat format, const std::string& prefix);
/// Gives the files their final names.
void publish(const TokenWriter& writer);

// The writers by format. Internal to io/tokens/write.
std::unique_ptr<TokenWriter> make_hdf5_writer(const TokenOutput& output);
std::unique_ptr<TokenWriter> make_megatron_writer(const TokenOutput& output);
std::unique_ptr<TokenWriter> make_llmc_writer(const TokenOutput& output);
/// `final` as it is named in the output's directory.
std::string working_name(const TokenOutput& output, const std::string& final_name);

}  // namespace triax
