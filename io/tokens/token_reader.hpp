#pragma once
// Tokens on disk, in four formats told apart by content: text (bytes), llm.c shards, Megatron
// .bin/.idx pairs and HDF5 token files. Files are mapped or read in pieces, never whole in memory.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// A sequence of tokens with random access.
class TokenFile {
 public:
  virtual ~TokenFile() = default;
  virtual std::int64_t size() const = 0;  // tokens
  /// Tokens [begin, begin + out.size()).
  virtual void read(std::int64_t begin, std::span<std::int32_t> out) const = 0;
  /// To be called after reading: an Error where the file was made shorter while it was open.
  virtual void check_length() const = 0;
  virtual std::string_view format() const = 0;  // "text", "jsonl", "llmc", "megatron", "hdf5"
};

/// Opens one file by its content. Error: what is wrong with it (missing, truncated, not a token
/// file), with numbers. Ranks that open the same file share the work that a format makes of it:
/// collective over them.
std::unique_ptr<TokenFile> open_tokens(const std::string& path, const Ranks& ranks = MPI_COMM_NULL);

/// Several files as one sequence, and the order in which training samples are read from it.
/// Sample i of an unshuffled reader is tokens [i T, i T + T]: T inputs, labels one further.
class TokenReader {
 public:
  /// Collective over `ranks`, which read the same files.
  TokenReader(const std::vector<std::string>& paths, int sequence_length, bool shuffle,
              std::uint64_t seed, const Ranks& ranks = MPI_COMM_NULL);
  ~TokenReader();
  TokenReader(TokenReader&&) noexcept;
  std::int64_t tokens() const;
  std::int64_t samples() const;  // of one epoch; at least 1
  bool has_bytes() const;        // a file is text, a token a byte
  /// Sample number `index` counted from the start of training: epoch index / samples(), a
  /// permutation per epoch when shuffled (a function of (seed, epoch), without memory). out: T + 1
  /// tokens, which are good once check_lengths() has returned.
  void sample(std::int64_t index, std::span<std::int32_t> out) const;
  /// After the samples of a batch, as it asks the file system: an Error where one of the files that
  /// were read was made shorter while it was open.
  void check_lengths() const;
  /// The largest token id seen is checked as samples are read: an Error names file and position of
  /// one that is not below `vocabulary`.
  void set_vocabulary(std::int64_t vocabulary);
  /// The same of as many tokens as a sample has at the beginning and the end of each file.
  void check_ends() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace triax
