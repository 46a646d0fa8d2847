// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tokens on disk, in five formats recognised by content: text (bytes), JSON lines, llm.c shards,
// Megatron .bin/.idx pairs and HDF5 token files. Files are mapped or read in pieces, never whole in
// memory.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/tokens/sample_reader.hpp"
#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// Label of a token that no position learns to predict, as in Hugging Face's datasets.
inline constexpr std::int32_t ignored_label = -100;

/// A sequence of tokens with random access.
class TokenFile {
 public:
  virtual ~TokenFile() = default;
  virtual std::int64_t size() const = 0;  // tokens
  /// Tokens [begin, begin + out.size()).
  virtual void read(std::int64_t begin, std::span<std::int32_t> out) const = 0;
  /// Whether the file has a label for each token; else each token is its own label.
  virtual bool has_labels() const { return false; }
  /// Labels of the tokens that read() gives, not shifted: token ids, or ignored_label.
  virtual void read_labels(std::int64_t begin, std::span<std::int32_t> out) const {
    read(begin, out);
  }
  /// Whether the file says where its documents begin.
  virtual bool has_documents() const { return false; }
  /// Sets starts[i] to 1 where token begin + i is the first of a document, to 0 elsewhere. Only
  /// with has_documents(). Error where the documents do not fit the tokens.
  virtual void read_starts(std::int64_t begin, std::span<std::uint8_t> starts) const;
  /// Call after reading. Error where the file was truncated while it was open.
  virtual void check_length() const = 0;
  virtual std::string_view format() const = 0;  // "text", "jsonl", "llmc", "megatron", "hdf5"
};

/// Opens one file; its content decides the format. Error with numbers where it is missing,
/// truncated or not a token file. Collective over `ranks`, which open the same file and share the
/// work of scanning it.
std::unique_ptr<TokenFile> open_tokens(const std::string& path, const Ranks& ranks = MPI_COMM_NULL);

/// Several files as one sequence of tokens, and the order of its training samples. Sample i of an
/// unshuffled reader is the T + 1 tokens [i T, i T + T]: T inputs, and the labels one token later.
class TokenReader final : public SampleReader {
 public:
  /// Collective over `ranks`, which read the same files.
  TokenReader(const std::vector<std::string>& paths, int sequence_length, bool shuffle,
              std::uint64_t seed, const Ranks& ranks = MPI_COMM_NULL);
  ~TokenReader() override;
  TokenReader(TokenReader&&) noexcept;
  std::int64_t tokens() const override;
  std::int64_t samples() const override;  // per epoch
  bool has_bytes() const override;
  bool has_labels() const override;
  /// Sample `index` is of epoch index / samples(), in the epoch's permutation when shuffled (a
  /// function of (seed, epoch), without a table).
  void sample(std::int64_t index, std::span<std::int32_t> out, std::span<std::int32_t> labels = {},
              std::span<std::uint8_t> starts = {}) const override;
  SamplePosition position(std::int64_t index) const override;
  /// Tokens of each file, in their order.
  std::vector<std::int64_t> file_tokens() const;
  void check_lengths() const override;
  /// Shuffles by another seed from now on.
  void set_seed(std::uint64_t seed);
  /// From now on samples are checked as they are read: Error with file and position of an id that
  /// is not in [0, vocabulary), or of a label that is neither such an id nor ignored_label.
  void set_vocabulary(std::int64_t vocabulary);
  /// From now on sample() knows the documents: those of a file that has them, else they end with
  /// the end token of the file's facts, else with `end_token` (-1: none). With ignore_first the
  /// label of the first token of each is ignored_label. UsageError where a file does not tell its
  /// documents apart.
  void find_documents(std::int64_t end_token, bool ignore_first);
  /// Checks the first and last T + 1 tokens of each file, and their labels. UsageError where one
  /// does not fit the vocabulary.
  void check_ends() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace triax
