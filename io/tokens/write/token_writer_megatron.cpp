// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's pair (io/tokens/token_formats_megatron.cpp has the layout): each document is one
// sequence, and the boundaries of documents count sequences.
#include <limits>
#include <numeric>

#include "io/files/durable.hpp"
#include "io/files/output_file.hpp"
#include "io/tokens/write/document_lengths.hpp"
#include "io/tokens/write/token_writer.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

template <class T>
void append_value(OutputFile& file, T value) {
  file.append_values(std::span<const T>(&value, 1));
}

class MegatronWriter : public TokenWriter {
 public:
  explicit MegatronWriter(const TokenOutput& output)
      : output_(output),
        width_(token_bytes(TokenFormat::megatron, output.vocabulary)),
        tokens_(working_name(output, output.prefix + ".bin")),
        index_(working_name(output, output.prefix + ".idx")),
        facts_(working_name(output, output.prefix + ".json")) {}

  void begin() override {
    OutputFile(tokens_).close(OutputFile::Sync::does_not);
    reserve_space(tokens_, output_.tokens * width_);
  }

  void write(std::int64_t extent, std::span<const std::byte> tokens) override {
    OutputFile(tokens_, OutputFile::Opens::existing)
        .write_at(extent * extent_tokens * width_, tokens);
  }

  void finish(const std::string& lengths, const TokenFacts& facts) override {
    write_index(lengths);
    sync_path(tokens_);
    write_durably(facts_, facts_json(facts));
  }

  std::vector<Named> files() const override {
    return {{tokens_, output_.prefix + ".bin"},
            {index_, output_.prefix + ".idx"},
            {facts_, output_.prefix + ".json"}};
  }

 private:
  void write_index(const std::string& lengths) const {
    constexpr std::uint8_t code_u16 = 8, code_i32 = 4;
    OutputFile index(index_);
    constexpr std::array<char, 9> magic = {'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0};
    index.append_values(std::span<const char>(magic));
    append_value<std::uint64_t>(index, 1);
    append_value<std::uint8_t>(index, width_ == 2 ? code_u16 : code_i32);
    append_value<std::uint64_t>(index, static_cast<std::uint64_t>(output_.documents));
    append_value<std::uint64_t>(index, static_cast<std::uint64_t>(output_.documents + 1));
    for_each(lengths, [&](std::int64_t length) {
      if (length > std::numeric_limits<std::int32_t>::max())
        throw Error("a document is too long for a Megatron pair",
                    fmt::format("it has {} tokens, lengths are of 32 bits", length),
                    "Give --format hdf5, or cut the document");
      append_value(index, static_cast<std::int32_t>(length));
    });
    std::int64_t offset = 0;
    for_each(lengths, [&](std::int64_t length) {
      append_value(index, offset);
      offset += length * width_;
    });
    for (std::int64_t document = 0; document <= output_.documents; ++document)
      append_value(index, document);
    index.close();
  }

  template <class Action>
  static void for_each(const std::string& lengths, Action action) {
    LengthsReader reader(lengths);
    for (auto block = reader.next(); !block.empty(); block = reader.next())
      for (const std::int64_t length : block) action(length);
  }

  TokenOutput output_;
  int width_;
  std::string tokens_, index_, facts_;
};

}  // namespace

std::unique_ptr<TokenWriter> make_megatron_writer(const TokenOutput& output) {
  return std::make_unique<MegatronWriter>(output);
}

}  // namespace triax
