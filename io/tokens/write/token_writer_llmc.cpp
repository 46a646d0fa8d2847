// SPDX-License-Identifier: Apache-2.0
// llm.c's shards (its dev/data/data_common.py): 256 int32, then the tokens; uint16 with magic
// 20240520, version 1, or uint32 with magic 20240801, version 7. A shard knows no documents: their
// end tokens tell them apart.
#include <algorithm>

#include "io/files/durable.hpp"
#include "io/files/output_file.hpp"
#include "io/tokens/write/token_writer.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::int64_t header_bytes = 256 * sizeof(std::int32_t);

class LlmcWriter : public TokenWriter {
 public:
  explicit LlmcWriter(const TokenOutput& output)
      : output_(output),
        width_(token_bytes(TokenFormat::llmc, output.vocabulary)),
        facts_(working_name(output, output.prefix + ".json")) {}

  void begin() override {
    for (std::int64_t s = 0; s < shards(); ++s) {
      std::array<std::int32_t, 256> header{};
      header[0] = width_ == 2 ? 20240520 : 20240801;
      header[1] = width_ == 2 ? 1 : 7;
      header[2] = static_cast<std::int32_t>(shard_end(s) - s * output_.shard_tokens);
      OutputFile shard(working(s));
      shard.append_values(std::span<const std::int32_t>(header));
      shard.close(OutputFile::Sync::does_not);
      reserve_space(working(s), header_bytes + header[2] * std::int64_t{width_});
    }
  }

  void write(std::int64_t extent, std::span<const std::byte> tokens) override {
    std::int64_t at = extent * extent_tokens;
    while (!tokens.empty()) {
      const std::int64_t shard = at / output_.shard_tokens;
      const std::int64_t count = std::min(shard_end(shard) - at, std::ssize(tokens) / width_);
      const auto bytes = static_cast<std::size_t>(count * width_);
      OutputFile(working(shard), OutputFile::Opens::existing)
          .write_at(header_bytes + (at - shard * output_.shard_tokens) * width_,
                    tokens.first(bytes));
      tokens = tokens.subspan(bytes);
      at += count;
    }
  }

  void finish(const std::string&, const TokenFacts& facts) override {
    for (std::int64_t s = 0; s < shards(); ++s) sync_path(working(s));
    write_durably(facts_, facts_json(facts));
  }

  std::vector<Named> files() const override {
    std::vector<Named> files;
    for (std::int64_t s = 0; s < shards(); ++s) files.emplace_back(working(s), name(s));
    files.emplace_back(facts_, output_.prefix + ".json");
    return files;
  }

 private:
  std::int64_t shards() const {
    return (output_.tokens + output_.shard_tokens - 1) / output_.shard_tokens;
  }
  std::int64_t shard_end(std::int64_t shard) const {
    return std::min(output_.tokens, (shard + 1) * output_.shard_tokens);
  }
  std::string name(std::int64_t shard) const {
    return fmt::format("{}_{:06d}.bin", output_.prefix, shard);
  }
  std::string working(std::int64_t shard) const { return working_name(output_, name(shard)); }

  TokenOutput output_;
  int width_;
  std::string facts_;
};

}  // namespace

std::unique_ptr<TokenWriter> make_llmc_writer(const TokenOutput& output) {
  return std::make_unique<LlmcWriter>(output);
}

}  // namespace triax
