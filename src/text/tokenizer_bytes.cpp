// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "io/files/sha256.hpp"
#include "kernels/base/check.hpp"
#include "src/text/tokenizer.hpp"

namespace triax {
namespace {

class Bytes final : public Tokenizer {
 public:
  class BytesEncoder final : public Encoder {
   public:
    void encode(std::string_view text, const EncodeOptions&,
                std::vector<std::int32_t>& ids) override {
      for (const unsigned char byte : text) ids.push_back(byte);
    }
  };

  std::unique_ptr<Encoder> encoder() const override { return std::make_unique<BytesEncoder>(); }

  std::string decode(std::span<const std::int32_t> ids, bool) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= vocabulary())
        throw UsageError(fmt::format("{} is not a byte", id), "tokens are the bytes 0 to 255",
                         "Decode with the tokenizer that made the ids");
      text.push_back(static_cast<char>(id));
    }
    return text;
  }

  std::int32_t vocabulary() const override { return 256; }
  std::string token(std::int32_t id) const override {
    return id >= 0 && id < vocabulary() ? std::string(1, static_cast<char>(id)) : std::string();
  }
  std::optional<std::int32_t> id_of(std::string_view token) const override {
    if (token.size() != 1) return {};
    return static_cast<unsigned char>(token.front());
  }
  std::optional<std::int32_t> end_token() const override { return {}; }
  const std::string& fingerprint() const override { return fingerprint_; }

 private:
  std::string fingerprint_ = sha256_of("bytes");
};

}  // namespace

std::shared_ptr<const Tokenizer> byte_tokenizer() {
  return std::make_shared<Bytes>();
}

}  // namespace triax
