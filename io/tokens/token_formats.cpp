// SPDX-License-Identifier: Apache-2.0
#include "io/tokens/token_formats.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "io/hdf5/hdf5.hpp"
#include "io/hub/lfs_pointer.hpp"
#include "io/tokens/token_convert.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

class TextFile : public TokenFile {
 public:
  explicit TextFile(MappedFile file) : file_(std::move(file)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(file_.size()); }
  void check_length() const override { file_.check_length(); }
  std::string_view format() const override { return "text"; }
  void read(std::int64_t begin, std::span<std::int32_t> out) const override {
    check_token_range(*this, begin, out);
    convert_tokens<std::uint8_t>(file_.data() + begin, out);
  }

 private:
  MappedFile file_;
};

constexpr std::int32_t magic_gpt2 = 20240520;
constexpr std::int32_t magic_llama3 = 20240801;
constexpr std::size_t llmc_header_bytes = 256 * sizeof(std::int32_t);

class LlmcFile : public TokenFile {
 public:
  LlmcFile(MappedFile file, std::int64_t count, bool wide)
      : file_(std::move(file)), count_(count), wide_(wide) {}
  std::int64_t size() const override { return count_; }
  void check_length() const override { file_.check_length(); }
  std::string_view format() const override { return "llmc"; }
  void read(std::int64_t begin, std::span<std::int32_t> out) const override {
    check_token_range(*this, begin, out);
    const std::byte* const tokens = file_.data() + llmc_header_bytes;
    if (wide_)
      convert_tokens<std::uint32_t>(tokens + begin * 4, out);
    else
      convert_tokens<std::uint16_t>(tokens + begin * 2, out);
  }

 private:
  MappedFile file_;
  std::int64_t count_;
  bool wide_;  // uint32 rather than uint16
};

// An index that exists but cannot be examined counts: opening it gives the error.
bool has_index(const std::string& prefix) {
  std::error_code error;
  const auto status = std::filesystem::status(prefix + ".idx", error);
  return status.type() != std::filesystem::file_type::directory &&
         (error ? error != std::errc::no_such_file_or_directory : std::filesystem::exists(status));
}

bool has_sound_index(const std::string& prefix) {
  return has_index(prefix) && is_megatron_index(MappedFile(prefix + ".idx"));
}

[[noreturn]] void not_tokens(const std::string& path, std::ptrdiff_t zero) {
  throw Error(
      fmt::format("{} is not a token file", path),
      fmt::format("byte {} is zero, so it is not text; it has no llm.c magic ({} or {}), is not "
                  "HDF5, and has no Megatron .idx beside it",
                  zero, magic_gpt2, magic_llama3),
      "Give text, .jsonl, an llm.c shard, a Megatron .bin with its .idx, or HDF5 tokens");
}

}  // namespace

void check_token_range(const TokenFile& file, std::int64_t begin,
                       std::span<const std::int32_t> out) {
  check(begin >= 0 && begin + std::ssize(out) <= file.size(), "tokens [{}, {}) of {}", begin,
        begin + std::ssize(out), file.size());
}

std::unique_ptr<TokenFile> open_text(MappedFile file) {
  return std::make_unique<TextFile>(std::move(file));
}

bool is_llmc(const MappedFile& file) {
  if (file.size() < sizeof(std::int32_t)) return false;
  const auto magic = load<std::int32_t>(file.data());
  return magic == magic_gpt2 || magic == magic_llama3;
}

std::unique_ptr<TokenFile> open_llmc(MappedFile file) {
  const std::string remedy = "Write the shard again, or fetch the whole of it";
  if (file.size() < llmc_header_bytes)
    throw Error(fmt::format("{} is a truncated llm.c shard", file.path()),
                fmt::format("{} bytes, the header alone has {}", file.size(), llmc_header_bytes),
                remedy);
  const bool wide = load<std::int32_t>(file.data()) == magic_llama3;
  const auto version = load<std::int32_t>(file.data() + 4);
  const std::int64_t count = load<std::int32_t>(file.data() + 8);
  const int expected_version = wide ? 7 : 1;
  if (version != expected_version)
    throw Error(fmt::format("{} is an llm.c shard of version {}", file.path(), version),
                fmt::format("only version {} is known", expected_version),
                "Write it with a matching llm.c");
  const std::int64_t expected =
      static_cast<std::int64_t>(llmc_header_bytes) + count * (wide ? 4 : 2);
  if (count <= 0 || static_cast<std::int64_t>(file.size()) != expected)
    throw Error(fmt::format("{} is a damaged llm.c shard", file.path()),
                fmt::format("the header counts {} tokens, which make {} bytes; the file has {}",
                            count, expected, file.size()),
                remedy);
  return std::make_unique<LlmcFile>(std::move(file), count, wide);
}

std::unique_ptr<TokenFile> open_tokens(const std::string& path, const Ranks& ranks) {
  std::error_code ignored;
  const std::filesystem::path name(path);
  const std::string stem = std::filesystem::path(name).replace_extension().string();
  const bool bin = name.extension() == ".bin";
  if (!std::filesystem::exists(path, ignored)) {
    if (has_index(path)) return open_megatron(path);  // `path` is a Megatron prefix
    if (bin && has_index(stem)) return open_megatron(stem);
  }
  MappedFile file(path);
  refuse_lfs_pointer(file);
  if (is_megatron_index(file) || name.extension() == ".idx" || (bin && has_sound_index(stem)))
    return open_megatron(stem);
  if (is_llmc(file)) return open_llmc(std::move(file));
  if (hdf5::begin_of_hdf5(path) >= 0) return open_hdf5_tokens(path);
  if (bin && has_index(stem)) return open_megatron(stem);  // throws the Error about the index
  if (file.size() == 0)
    throw Error(path + " is empty", "0 bytes", "Give a file with text or tokens in it");
  // Text has no zero bytes; token ids of 2 or 4 bytes have one within a few ids.
  constexpr std::size_t probe = 65536;
  const auto head = file.bytes().first(std::min(probe, file.size()));
  const auto zero = std::find(head.begin(), head.end(), std::byte{0});
  if (zero != head.end()) not_tokens(path, zero - head.begin());
  if (is_jsonl(file)) return open_jsonl(std::move(file), ranks);
  if (name.extension() == ".jsonl" || name.extension() == ".json")
    throw Error(path + " is not JSON lines of text", why_not_jsonl(file),
                "Write one object with a string \"text\" per line (jq -c, or jq -c '.[]' for an "
                "array), or give another name to train on its bytes as they are");
  return open_text(std::move(file));
}

}  // namespace triax
