// SPDX-License-Identifier: Apache-2.0
// HDF5: /tokens (uint16 or uint32) and /documents (int64: the first token of each document, and
// the number of tokens), both chunked and compressed; the facts are attributes of the root. Each
// extent is compressed into a file of its own, and one process joins them.
#include <algorithm>
#include <cstring>
#include <filesystem>

#include "io/documents/byte_source.hpp"
#include "io/files/durable.hpp"
#include "io/files/output_file.hpp"
#include "io/hdf5/chunks/chunked_file.hpp"
#include "io/tokens/write/document_lengths.hpp"
#include "io/tokens/write/token_writer.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

// A training sample decompresses a chunk: 64 Ki tokens take less than half a millisecond.
constexpr std::int64_t token_chunk = std::int64_t{1} << 16;
constexpr std::int64_t document_chunk = std::int64_t{1} << 13;
constexpr std::int64_t chunks_per_extent = extent_tokens / token_chunk;

// The chunks of one extent on disk: their sizes in bytes, then their data.
using ChunkSizes = std::array<std::int64_t, chunks_per_extent>;

class Hdf5Writer : public TokenWriter {
 public:
  explicit Hdf5Writer(const TokenOutput& output)
      : output_(output),
        file_(working_name(output, output.prefix + ".h5")),
        tokens_{"/tokens",
                token_bytes(TokenFormat::hdf5, output.vocabulary) == 2 ? hdf5::ChunkType::u16
                                                                       : hdf5::ChunkType::u32,
                output.tokens, std::min(token_chunk, output.tokens)},
        documents_{"/documents", hdf5::ChunkType::i64, output.documents + 1,
                   std::min(document_chunk, output.documents + 1)} {}

  void begin() override {}

  void write(std::int64_t extent, std::span<const std::byte> tokens) override {
    const std::size_t chunk_bytes = token_chunk * hdf5::size_of(tokens_.type);
    ChunkSizes sizes{};
    std::vector<std::byte> data;
    for (std::size_t c = 0; !tokens.empty(); ++c) {
      const auto chunk = tokens.first(std::min(chunk_bytes, tokens.size()));
      const std::vector<std::byte> compressed = hdf5::compressed_chunk(chunk, tokens_);
      sizes[c] = std::ssize(compressed);
      data.insert(data.end(), compressed.begin(), compressed.end());
      tokens = tokens.subspan(chunk.size());
    }
    OutputFile file(extent_path(extent));
    file.append_values(std::span<const std::int64_t>(sizes));
    file.append(data);
    file.close(OutputFile::Sync::does_not);
  }

  void finish(const std::string& lengths, const TokenFacts& facts) override {
    hdf5::ChunkedFile file(file_, {tokens_, documents_}, data_bytes());
    write_facts(file, facts);
    for (std::int64_t e = 0; e < output_.extents(); ++e) move_extent(file, e);
    write_documents(file, lengths);
    file.close();
  }

  std::vector<Named> files() const override { return {{file_, output_.prefix + ".h5"}}; }

 private:
  std::string extent_path(std::int64_t extent) const {
    return fmt::format("{}.extent-{}", file_, extent);
  }

  std::int64_t data_bytes() const {
    std::int64_t bytes = (output_.documents + 1 + document_chunk) * 9;
    for (std::int64_t e = 0; e < output_.extents(); ++e)
      bytes += static_cast<std::int64_t>(std::filesystem::file_size(extent_path(e)));
    return bytes;
  }

  static void write_facts(hdf5::ChunkedFile& file, const TokenFacts& facts) {
    file.write_attribute("tokenizer", facts.tokenizer);
    file.write_attribute("vocabulary", facts.vocabulary);
    file.write_attribute("end_token", facts.end_token);
    file.write_attribute("documents", facts.documents);
    file.write_attribute("tokens", facts.tokens);
    file.write_attribute("checksum", fmt::format("{:016x}", facts.checksum));
    file.write_attribute("job", facts.job);
    file.write_attribute("triax", facts.version);
  }

  // The extent's file is removed: the disk never holds more than one extent twice.
  void move_extent(hdf5::ChunkedFile& file, std::int64_t extent) const {
    const std::string path = extent_path(extent);
    std::vector<std::byte> data(std::filesystem::file_size(path));
    const auto source = open_plain(path, 0);
    std::size_t filled = 0;
    for (std::size_t count = 1; count > 0 && filled < data.size(); filled += count)
      count = source->read(
          std::span(reinterpret_cast<char*>(data.data()), data.size()).subspan(filled));
    check(filled == data.size() && filled >= sizeof(ChunkSizes), "{} has {} bytes", path, filled);
    ChunkSizes sizes{};
    std::memcpy(sizes.data(), data.data(), sizeof sizes);
    auto rest = std::span<const std::byte>(data).subspan(sizeof sizes);
    for (std::size_t c = 0; c < sizes.size() && sizes[c] > 0; ++c) {
      const auto bytes = static_cast<std::size_t>(sizes[c]);
      file.write_chunk(0, extent * chunks_per_extent + static_cast<std::int64_t>(c),
                       rest.first(bytes));
      rest = rest.subspan(bytes);
    }
    std::filesystem::remove(path);
  }

  void write_documents(hdf5::ChunkedFile& file, const std::string& lengths) const {
    LengthsReader reader(lengths);
    std::vector<std::int64_t> starts = {0};
    std::int64_t chunk = 0, next = 0;
    const auto put = [&] {
      file.write_chunk(1, chunk++,
                       hdf5::compressed_chunk(std::as_bytes(std::span(starts)), documents_));
      starts.clear();
    };
    for (auto block = reader.next(); !block.empty(); block = reader.next())
      for (const std::int64_t length : block) {
        if (std::ssize(starts) == document_chunk) put();
        starts.push_back(next += length);
      }
    put();
  }

  TokenOutput output_;
  std::string file_;
  hdf5::ChunkedDataset tokens_, documents_;
};

}  // namespace

std::unique_ptr<TokenWriter> make_hdf5_writer(const TokenOutput& output) {
  return std::make_unique<Hdf5Writer>(output);
}

}  // namespace triax
