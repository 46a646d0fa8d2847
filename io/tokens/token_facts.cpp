// SPDX-License-Identifier: Apache-2.0
#include "io/tokens/token_facts.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/files/checksum.hpp"
#include "io/hdf5/hdf5.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

TokenFacts attributes_of(const hdf5::File& file) {
  const auto number = [&](const char* name) { return file.integer_attribute("/", name); };
  return {.tokenizer = file.string_attribute("/", "tokenizer"),
          .vocabulary = number("vocabulary"),
          .end_token = number("end_token"),
          .documents = number("documents"),
          .tokens = number("tokens"),
          .checksum = std::stoull(file.string_attribute("/", "checksum"), nullptr, 16),
          .job = file.string_attribute("/", "job"),
          .version = file.string_attribute("/", "triax")};
}

}  // namespace

std::string facts_json(const TokenFacts& facts) {
  const nlohmann::ordered_json out = {{"tokenizer", facts.tokenizer},
                                      {"vocabulary", facts.vocabulary},
                                      {"end_token", facts.end_token},
                                      {"documents", facts.documents},
                                      {"tokens", facts.tokens},
                                      {"checksum", fmt::format("{:016x}", facts.checksum)},
                                      {"job", facts.job},
                                      {"triax", facts.version}};
  return out.dump(2) + '\n';
}

std::optional<TokenFacts> read_facts_json(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  std::ifstream file(path);
  try {
    const auto in = nlohmann::json::parse(file);
    return TokenFacts{.tokenizer = in.at("tokenizer"),
                      .vocabulary = in.at("vocabulary"),
                      .end_token = in.at("end_token"),
                      .documents = in.at("documents"),
                      .tokens = in.at("tokens"),
                      .checksum = std::stoull(in.at("checksum").get<std::string>(), nullptr, 16),
                      .job = in.at("job"),
                      .version = in.at("triax"),
                      .in_side_file = true};
  } catch (const std::exception& error) {
    throw Error(path + " does not hold the facts of token files", error.what(),
                "Remove it if it belongs to something else");
  }
}

std::optional<TokenFacts> token_facts(const std::string& path) {
  if (hdf5::begin_of_hdf5(path) < 0) {
    // corpus.json beside corpus.txt may be of the tokens that were made of it.
    const std::string extension = std::filesystem::path(path).extension().string();
    if (extension != ".bin" && extension != ".idx") return {};
    return read_facts_json(facts_path(path));
  }
  const hdf5::File file(path, hdf5::File::Mode::read);
  if (!file.has_attribute("/", "tokenizer") || !file.has_attribute("/", "checksum")) return {};
  return attributes_of(file);
}

std::string facts_path(const std::string& data) {
  std::string stem = std::filesystem::path(data).replace_extension().string();
  constexpr std::size_t digits = 6;  // of a shard's number
  if (stem.size() > digits + 1 && stem[stem.size() - digits - 1] == '_' &&
      stem.find_first_not_of("0123456789", stem.size() - digits) == stem.npos)
    stem.resize(stem.size() - digits - 1);
  return stem + ".json";
}

std::uint64_t token_checksum(std::int64_t first, const std::byte* tokens, std::int64_t count,
                             int width) {
  static const std::uint64_t seed = checksum_seed("tokens");
  // Tensors that are read alone have mutable memory, too.
  auto* const data = const_cast<std::byte*>(tokens);
  if (width == 2)
    return checksum_of(seed, first, Tensor(reinterpret_cast<std::uint16_t*>(data), {count}));
  return checksum_of(seed, first, Tensor(reinterpret_cast<std::int32_t*>(data), {count}));
}

}  // namespace triax
