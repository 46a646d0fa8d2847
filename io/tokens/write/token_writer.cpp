// SPDX-License-Identifier: Apache-2.0
#include "io/tokens/write/token_writer.hpp"

#include <algorithm>
#include <filesystem>

#include "io/files/durable.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::int64_t ids_of_16_bits = 65536;
// Megatron's DType.optimal_dtype() takes int32 from here on.
constexpr std::int64_t ids_of_megatron_16_bits = 65500;

struct FormatRow {
  TokenFormat format;
  std::string_view name;
  const char *first_ending, *last_ending;
  std::int64_t ids_of_two_bytes;  // vocabularies up to here
  std::unique_ptr<TokenWriter> (*make)(const TokenOutput&);
};

constexpr std::array<FormatRow, 3> formats = {{
    {TokenFormat::hdf5, "hdf5", ".h5", ".h5", ids_of_16_bits, make_hdf5_writer},
    {TokenFormat::megatron, "megatron", ".bin", ".json", ids_of_megatron_16_bits - 1,
     make_megatron_writer},
    {TokenFormat::llmc, "llmc", "_000000.bin", ".json", ids_of_16_bits, make_llmc_writer},
}};

const FormatRow& row_of(TokenFormat format) {
  return *std::ranges::find(formats, format, &FormatRow::format);
}

}  // namespace

std::string_view name_of(TokenFormat format) {
  return row_of(format).name;
}

std::optional<TokenFormat> token_format(std::string_view name) {
  const auto* const row = std::ranges::find(formats, name, &FormatRow::name);
  if (row == formats.end()) return {};
  return row->format;
}

int token_bytes(TokenFormat format, std::int64_t vocabulary) {
  return vocabulary <= row_of(format).ids_of_two_bytes ? 2 : 4;
}

std::unique_ptr<TokenWriter> make_token_writer(TokenFormat format, const TokenOutput& output) {
  return row_of(format).make(output);
}

std::string last_file(TokenFormat format, const std::string& prefix) {
  return prefix + row_of(format).last_ending;
}

std::string first_file(TokenFormat format, const std::string& prefix) {
  return prefix + row_of(format).first_ending;
}

std::string working_name(const TokenOutput& output, const std::string& final_name) {
  return output.directory + "/" + std::filesystem::path(final_name).filename().string();
}

void publish(const TokenWriter& writer) {
  for (const auto& [working, final_name] : writer.files()) {
    std::error_code ignored;
    // A file that is gone has its name already: an earlier attempt was killed here.
    if (std::filesystem::exists(working, ignored)) rename_path(working, final_name);
    sync_path(directory_of(final_name));
  }
}

}  // namespace triax
